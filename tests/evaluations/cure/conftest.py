"""A study by hand: six countries, the four benchmarks, models and judges whose answers a test sets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.published import BenchmarkItem
from tasks.evaluations.cure.read import (
    CureScores,
    ExplanationJudgeCall,
    Readings,
    Reply,
    judge_calls,
    read_answers,
    replies,
    score_model,
)
from tasks.evaluations.cure.study import CureStudy, Key, build_study
from tasks.judging.panel import Opinions
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine

Row = dict[str, Any]
Tables = dict[str, list[Row]]
MakeStudy = Callable[..., CureStudy]
Judging = Callable[[ExplanationJudgeCall], "float | str"]
"""Call -> the probability of YES, or the judge's text."""

COUNTRIES = {"BR": "Brazil", "FR": "France", "IN": "India", "JP": "Japan", "KE": "Kenya", "MX": "Mexico"}
LABELS = {"IN": "yes", "JP": "no", "MX": "neutral", "KE": "yes", "BR": "yes", "FR": "no"}
"""NormAd's gold labels."""


def row(benchmark: str, item: str, country: str, label: str, **cells: Any) -> Row:
    """Return a row of table cure_item whose texts name the item."""
    texts = {"situation": f"What happens in {item}.", "question": f"Is it right in {item}?", "persona": None}
    own = {"benchmark": benchmark, "item": item, "country": country, "group_name": None, "label": label}
    return own | texts | {"gold": f"The norm of {item}.", "cues": None, "rule": None} | cells


def tables() -> Tables:
    """Return rows of the warehouse's tables: NormAd 6, CASA 4 (two pairs), CultureBank 6, SpecNorm 3."""
    items = [
        row("normad", f"normad-f{i}-{country.lower()}", country, label, rule=f"Rule {i}.", group_name="home")
        for i, (country, label) in enumerate(LABELS.items())
    ]
    for pair, country in (("x", "IN"), ("y", "JP")):
        shared = {"gold": f"What {pair} means.", "rule": f"Rule of {pair}.", "cues": f"{pair} cloth|{pair}"}
        items += [
            row("casa", f"casa-{pair}-{country.lower()}-{side}", country, label, group_name="gifts", **shared)
            for side, label in (("adhere", "yes"), ("violate", "no"))
        ]
    items += [
        row("culturebank", f"culturebank-{country.lower()}-1", country, "yes",
            persona=f"Ana, a guest in {country}", group_name=f"people of {name}")
        for country, name in COUNTRIES.items()
    ]  # fmt: skip
    items += [
        row("specnorm", f"specnorm-{country.lower()}-1", country, label,
            persona=f"Someone of group {country}", group_name=f"group {country}",
            cues=f"ethnicity: group {country}|age: old", rule="medium")
        for country, label in (("IN", "yes"), ("JP", "no"), ("KE", "yes"))
    ]  # fmt: skip
    return {"cure_item": items, "country": [{"country": c, "name": name} for c, name in COUNTRIES.items()]}


def judge(name: str = "j", model: str = "maker/Judge-1B") -> Engine:
    return Engine(name, "fake", model, f"hash of {name}")


@pytest.fixture(scope="session")
def make_study() -> MakeStudy:
    """A study of these rows and params; by default with one judge."""

    def make(rows: Tables | None = None, judges: Sequence[Engine] = (judge(),), **params: Any) -> CureStudy:
        engines = {engine.name: engine for engine in judges}
        chosen = {"models": ["m"], "judges": list(engines)} | params
        return build_study(CureParams(**chosen), rows or tables(), {}, engines)

    return make


def completion(label: str, explanation: str | None = None, **about: Any) -> Completion:
    """Return a JSON answer that used 100 and 20 tokens."""
    fields = {"label": label} | ({"explanation": explanation} if explanation is not None else {})
    return Completion(json.dumps(fields), "stop", 100, 20, **about)


class Sample(NamedTuple):
    """One item in one mode."""

    key: Key
    item: BenchmarkItem
    prompt: Prompt


def samples_of(study: CureStudy, *part: str) -> list[Sample]:
    """Return the samples of a benchmark in a mode; without arguments all samples."""
    items = {(item.benchmark, item.item): item for b in study.benchmarks for item in study.items(b)}
    of = [Sample(key, items[key[0], key[2]], prompt) for key, prompt in study.prompts.items()]
    return [sample for sample in of if sample.key[: len(part)] == part]


def right_answers(study: CureStudy) -> dict[Key, Completion]:
    """Return the gold label of every sample, and in thick mode an explanation that names the item."""
    return {
        s.key: completion(s.item.label, f"Because of {s.item.item}." if s.key[1] == "thick" else None)
        for s in samples_of(study)
    }


def verdict(answer: float | str) -> Completion:
    """Return a judge's answer with this probability of YES, or this text without probabilities."""
    if isinstance(answer, str):
        return Completion(answer, "stop", 200, 20)
    name, reason = ("YES", "any") if answer >= 0.5 else ("NO", "off topic")
    text = json.dumps({"explanation": {"verdict": name, "reason": reason}})
    logprobs = {
        "YES": math.log(answer) if answer else -math.inf,
        "NO": math.log1p(-answer) if answer < 1 else -99.0,
    }
    return Completion(text, "stop", 200, 20, 0, logprobs)


def scored(study: CureStudy, completions: Mapping[Key, Completion], judging: Judging) -> CureScores:
    """Return the scores of these completions, judged by ``judging``."""
    readings = read_answers(study, completions)
    return score_model(study, readings, judged_by(study, readings, judging))


def judged_by(study: CureStudy, readings: Readings, judging: Judging) -> list[Reply]:
    """Return replies of all judges, which agree."""
    calls = judge_calls(study, readings)
    return replies(study, calls, opinions_of(study, calls, lambda _, call: judging(call)))


def opinions_of(
    study: CureStudy,
    calls: Sequence[ExplanationJudgeCall],
    judging: Callable[[str, ExplanationJudgeCall], float | str | None],
) -> Opinions:
    """Return opinions by judge and call. judging: (judge, call) -> answer; None if there is none yet."""

    def stored(request: Prompts) -> dict[str, Completion]:
        own = [call for call in calls if call.sampling == request.sampling]
        known = {call.prompt.id: judging(request.engine, call) for call in own}
        return {unit: verdict(text) for unit, text in known.items() if text is not None}

    return study.panel.read(calls, stored)


def real_only(call: ExplanationJudgeCall) -> float:
    """Judge real explanations 0.9, all nulls 0.1."""
    return 0.9 if call.source == "real" else 0.1
