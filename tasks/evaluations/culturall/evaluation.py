"""The culturall evaluation as the loop sees it: answers to grounded tasks, then judges on the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.culturall import rows
from tasks.evaluations.culturall.answer_rows import answer_frame, verdict_frame_of
from tasks.evaluations.culturall.answers import (
    Answer,
    Opinions,
    answer_texts,
    calls,
    checks,
    completed,
    judge_request,
    read_answers,
    read_opinions,
)
from tasks.evaluations.culturall.pack import PACK
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.requests import Key, Study, build_study
from tasks.evaluations.culturall.samples import samples
from tasks.evaluations.culturall.scores import score
from tasks.generation.budget import at_most
from tasks.generation.prompts import Prompts
from tasks.requests import Engine, Later

TABLES = {"culturall_item": "SELECT * FROM culturall_item ORDER BY item"}


@dataclass(frozen=True)
class Answers:
    """One model's answers, and what each judge said of them."""

    by_key: Mapping[Key, Answer]
    said: Opinions

    def texts(self) -> dict[Key, str]:
        """The answers that are there."""
        return {key: answer.text for key, answer in self.by_key.items() if answer.text is not None}


def study(params: CulturallParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Items from the warehouse, or from a file in their place; see ``build_study``."""
    if params.file and params.pack:
        raise ValueError("--pack adds to the shipped items, which --file replaces: give one or the other")
    return build_study(params, tables["culturall_item"], engines)


def ask(study: Study, completions: Completions) -> list[Prompts]:
    """Every item under every condition; then each judge about the answers that are there."""
    asked = [study.request(condition) for condition in study.conditions]
    about = calls(study, answer_texts(completed(study, completions))) if study.judges else []
    return asked + [judge_request(study, judge, about) for judge in study.judges if about]


def read(study: Study, completions: Completions, checked: Opinions) -> Answers:
    """Answers, matched and judged; what is missing is unscored with a reason."""
    done = completed(study, completions)
    about = calls(study, answer_texts(done)) if study.judges else []
    said = {
        judge: read_opinions(about, completions(judge_request(study, judge, about))) for judge in study.judges
    }
    return Answers(read_answers(study, done, said), said)


def ask_shared(study: Study, completions: Completions) -> list[Prompts]:
    """The judges' own check."""
    return [judge_request(study, judge, checks(study)) for judge in study.judges]


def read_shared(study: Study, completions: Completions) -> Opinions:
    """What each judge said of gold answers, others' and empty ones."""
    about = checks(study) if study.judges else []
    return {
        judge: read_opinions(about, completions(judge_request(study, judge, about))) for judge in study.judges
    }


def make_rows(study: Study, cohort: Cohort[Answers], checked: Opinions) -> Tables:
    """Rows of the models and of those that know nothing, every answer and every verdict.

    Difficulty is taken over the cohort's models, so that no row changes because another model ran.
    """
    answered = {
        model: {condition: score(study, condition, answers.by_key) for condition in study.conditions}
        for model, answers in {**cohort.against, **cohort.models}.items()
    }
    of_judges, metrics = rows.check_rows(study, checked or {}), rows.null_rows(study)
    for model in cohort.models:
        others = [other for other in cohort.against if other != model]
        candidate = cohort.engines[model].model
        metrics[model] = [*rows.model_rows(study, model, candidate, answered, others), *of_judges]
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def later(study: Study) -> Iterable[Later]:
    """What each judge may be asked about a model: every answer once."""
    if not study.judges:
        return []
    longest = max(checks(study), key=lambda call: sum(map(len, call.item.native)))
    request = judge_request(study, next(iter(study.judges)), [longest])
    most = at_most(longest.prompt.conversation, longest.prompt.schema, request.sampling)
    tokens = most.prompt_tokens + study.params.max_tokens + most.completion_tokens
    return [Later("judge", judge, len(study.prompts), tokens) for judge in study.judges]


def _details(study: Study, answers: Answers) -> list[Detail]:
    """Every answer, and every verdict of each judge."""
    about = calls(study, answers.texts()) if study.judges else []
    return [
        Detail("culturall_answer", answer_frame(study, answers.by_key)),
        *(
            Detail("verdict", verdict_frame_of(study, judge, about, said), study.judges[judge].name)
            for judge, said in answers.said.items()
        ),
    ]


def size(study: Study) -> str:
    """How many items there are, and which rows of a file are none."""
    dropped = [f"{name} {n}" for name, n in study.loaded.dropped.items() if name != "not_chosen"]
    left_out = f"; rows left out: {', '.join(dropped)}" if dropped else ""
    return f"{len(study.items)} items in {len({i.language for i in study.items})} languages{left_out}"


EVALUATION = Evaluation(
    "culturall", CulturallParams, TABLES, study, ask, read, make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    shared=Shared(ask_shared, read_shared),
    later=later,
    size=size,
    samples=samples,
    pack=PACK,
)  # fmt: skip
