"""A study by hand: eight items in three regions of two languages, and judges whose verdicts a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.read import calls, read_answers
from tasks.evaluations.culturall.rows import CulturallScores, scores_of
from tasks.evaluations.culturall.study import CulturallStudy, build_study
from tasks.judging.panel import Call, Key
from tasks.loop.prompts import Completion
from tasks.loop.requests import Engine

Row = dict[str, Any]
MakeStudy = Callable[..., CulturallStudy]

OPTIONS = "A. tea B. coffee C. cocoa D. water"


def row(item: str, language: str, region: str, answer: str, **cells: Any) -> Row:
    """Return a row of culturall_item whose texts name the item; answers A to D are four drinks."""
    is_choice = answer in "ABCD"
    question = f"Which one, {item}? {OPTIONS}" if is_choice else f"How many, {item}?"
    texts = {
        "scenario": f"Case of {item}.",
        "question": question,
        "answer": answer,
        "explanation": f"Why {item}.",
    }
    own = {"item": item, "language": language, "region": region, "topic": "Food", "variants": None}
    own["variants_en"] = f"{answer} in all"
    own |= {"form": "choice" if is_choice else "free", "source": "a test", "status": "not checked by people"}
    english = {f"{name}_en": text if name == "answer" else f"EN {text}" for name, text in texts.items()}
    return own | texts | english | cells


ROWS = [
    row("a1", "es", "MX", "24"),
    row("a2", "es", "MX", "7", topic="Pets", variants="seven|VII"),
    row("a3", "es", "PE", "B"),
    row("a4", "es", "PE", "30 pesos"),
    row("b1", "ja", "JP", "B"),
    row("b2", "ja", "JP", "C", topic="Pets"),
    row("b3", "ja", "JP", "9"),
    row("b4", "ja", "JP", "9"),
]


@pytest.fixture(name="make_study")
def _make_study() -> MakeStudy:
    """A study of ROWS, or of others, with judges "j" and so on; other fields are params."""

    def make(*judges: str, rows: list[Row] | None = None, **fields: Any) -> CulturallStudy:
        engines = {name: Engine(name, "fake", f"model-{name}", f"hash-{name}") for name in judges}
        params = CulturallParams(models=["m"], judges=list(judges), **fields)
        return build_study(params, rows or ROWS, engines)

    return make


def completion(text: str, finish_reason: str = "stop") -> Completion:
    return Completion(text, finish_reason, 1, 1)


def verdict(name: str) -> Completion:
    """Return a judge's answer: right, wrong, or anything that is no verdict."""
    reason = {"CORRECT": "same answer", "INCORRECT": "another answer"}.get(name)
    text = json.dumps({"prediction": {"verdict": name, "reason": reason}}) if reason else name
    return completion(text)


def scored(
    study: CulturallStudy,
    texts: Mapping[Key, str | Completion],
    judge: Callable[[Call], str] | None = None,
) -> CulturallScores:
    """Return scores of a model with these answers. judge: call -> the verdict of each judge."""
    answers = {key: completion(text) if isinstance(text, str) else text for key, text in texts.items()}
    about = calls(study, answers)
    verdicts = {call.prompt.id: verdict(judge(call)) for call in about} if judge else {}
    return scores_of(study, read_answers(study, answers, study.panel.read(about, lambda _: verdicts)))
