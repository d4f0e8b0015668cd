"""The culturall evaluation as the loop sees it: answers to grounded tasks, then judges on the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Evaluation, Rows, Shared, Tables
from tasks.evaluations.culturall import judged, rows
from tasks.evaluations.culturall.answers import Answer, read_answers, read_text
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.requests import Key, Study, build_study
from tasks.generation.budget import at_most
from tasks.generation.prompts import Completion, Prompts
from tasks.judging.prompts import Opinion
from tasks.requests import Engine, Later, Role

TABLES = {"culturall_item": "SELECT * FROM culturall_item ORDER BY item"}


@dataclass(frozen=True)
class Answers:
    """One model's answers, and what each judge, by its name in the params, said of them."""

    by_key: Mapping[Key, Answer]
    said: Mapping[str, Mapping[Key, Opinion]]


def study(params: CulturallParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Items from the warehouse, or from a published file in their place; see ``build_study``."""
    file_rows = list(read_rows(params.file)) if params.file else None
    return build_study(params, list(tables["culturall_item"]), engines, file_rows)


def ask(study: Study, completions: Completions) -> list[Prompts]:
    """Every item under every condition; then each judge about the answers that are there."""
    about = judged.calls(study, _texts(study, completions))
    asked = [study.request(condition) for condition in study.conditions]
    return asked + [judged.requests(study, judge, about) for judge in study.judges if about]


def read(study: Study, completions: Completions, checks: Any) -> Answers:
    """Answers, matched and judged; what is missing is unscored with a reason."""
    about = judged.calls(study, _texts(study, completions))
    said = {
        judge: judged.read_opinions(about, completions(judged.requests(study, judge, about)))
        for judge in study.judges
    }
    return Answers(read_answers(study, _completed(study, completions), said), said)


def ask_shared(study: Study, completions: Completions) -> list[Prompts]:
    """The judges' own check."""
    about = judged.checks(study)
    return [judged.requests(study, judge, about) for judge in study.judges]


def read_shared(study: Study, completions: Completions) -> Mapping[str, Mapping[Key, Opinion]]:
    """Judge -> what it said of gold answers, others' and empty ones."""
    about = judged.checks(study)
    return {
        judge: judged.read_opinions(about, completions(judged.requests(study, judge, about)))
        for judge in study.judges
    }


def make_rows(study: Study, cohort: Cohort[Answers], checks: Mapping[str, Mapping[Key, Opinion]]) -> Tables:
    """Rows of the models and of those that know nothing, every answer and every verdict."""
    ...


def later(study: Study) -> Iterable[Later]:
    """What each judge may be asked about a model: every answer once."""
    longest = max(judged.checks(study), key=lambda call: len(call.item.scenario) + len(call.item.explanation))
    most = at_most(longest.prompt.conversation, longest.prompt.schema, study.request("native").sampling)
    tokens = most.prompt_tokens + study.params.max_tokens + study.params.judge_max_tokens
    return [Later("judge", judge, len(study.prompts), tokens) for judge in study.judges]


def _completed(study: Study, completions: Completions) -> dict[Key, Completion]:
    """(condition, item) -> its stored completion."""
    by_condition = {condition: completions(study.request(condition)) for condition in study.conditions}
    return {
        key: by_condition[key[0]][prompt.id]
        for key, prompt in study.prompts.items()
        if prompt.id in by_condition[key[0]]
    }


def _texts(study: Study, completions: Completions) -> dict[Key, str]:
    """(condition, item) -> the text of its answer, where it has one."""
    read = {key: read_text(completion)[0] for key, completion in _completed(study, completions).items()}
    return {key: text for key, text in read.items() if text is not None}
