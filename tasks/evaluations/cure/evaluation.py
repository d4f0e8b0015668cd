"""The cure evaluation as the loop sees it: labels and explanations, then judges on the explanations.

Judges are asked about a benchmark once all of a model's explanations of it are there, so that no shuffled
explanation has to be judged that a later one would replace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Tables
from tasks.evaluations.cure import rows
from tasks.evaluations.cure.answer_rows import answer_frame, verdict_frames
from tasks.evaluations.cure.answers import (
    JudgeCall,
    Readings,
    completed,
    is_answered,
    judge_calls,
    most_calls,
    read_answers,
    replies,
)
from tasks.evaluations.cure.pack import PACK
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.requests import Study, build_study
from tasks.evaluations.cure.samples import samples
from tasks.evaluations.cure.scores import Scored, score_model
from tasks.judging.panel import Opinions
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later
from tasks.packs.published import Row, read_rows

TABLES = {
    "cure_item": "SELECT * FROM cure_item ORDER BY benchmark, item",
    "country": "SELECT country, name FROM country ORDER BY country",
}


@dataclass(frozen=True)
class Answers:
    """One model's answers, what judges were sent about them, what each said, and the numbers of both."""

    readings: Readings
    calls: Sequence[JudgeCall]
    said: Opinions
    scored: Scored


def study(params: CureParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Items from the warehouse, or from published files in their place; see ``build_study``.

    Raises:
        ValueError: files are given of a benchmark that is not asked, or cannot be read.
    """
    unused = ", ".join(benchmark for benchmark in params.files if benchmark not in params.benchmarks)
    if unused:
        raise ValueError(
            f"files of {unused}, which is not among the benchmarks: add it there, or leave them out"
        )
    published: dict[str, dict[str, Sequence[Row]]] = {
        b: {path: read_rows(path) for path in paths} for b, paths in params.files.items()
    }
    return build_study(params, tables, published, engines)


def ask(study: Study, completions: Completions) -> list[Prompts]:
    """Every benchmark in every mode; then, of each judge, the explanations that are there to be"""
    asked = [study.request(*part) for part in study.parts()]
    if not study.judges or "thick" not in study.modes:
        return asked
    readings = _readings(study, completions)
    ready = {b for b in study.benchmarks if is_answered(study, b, readings)}
    calls = [call for call in judge_calls(study, readings) if call.item.benchmark in ready]
    return asked + study.panel.requests(calls)


def read(study: Study, completions: Completions, shared: Any) -> Answers:
    """Labels, explanations, and what the judges replied; what is missing is unscored with a reason."""
    readings = _readings(study, completions)
    calls = judge_calls(study, readings)
    said = study.panel.read(calls, completions)
    return Answers(readings, calls, said, score_model(study, readings, replies(study, calls, said)))


def make_rows(study: Study, cohort: Cohort[Answers], shared: Any) -> Tables:
    """Rows of the models and of those that know nothing, every answer, and every verdict."""
    scored = {model: answers.scored for model, answers in cohort.models.items()}
    against = {model: answers.scored for model, answers in cohort.against.items()}
    candidates = {model: cohort.engines[model].model for model in scored}
    metrics = rows.model_rows(study, scored, against, candidates) | rows.null_rows(study)
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def later(study: Study) -> Iterable[Later]:
    """What each judge may be asked about a model: every explanation, and the null ones of the drawn items."""
    empty, n = most_calls(study)
    # The explanation comes on top of an empty one's prompt.
    longest = max(empty, key=lambda call: len(call.item.gold) + len(call.item.question), default=None)
    return study.panel.later(n, longest, study.params.max_tokens)


def size(study: Study) -> str:
    """How many items of each benchmark are asked, and of how many the null explanations are judged."""
    items = ", ".join(f"{name} {len(study.items(name))}" for name in study.benchmarks)
    if not study.judges or "thick" not in study.modes:
        return items
    nulls = ", ".join(f"{name} {len(study.chosen.with_nulls[name])}" for name in study.benchmarks)
    return f"{items}; of these null explanations are judged of {nulls}"


def _readings(study: Study, completions: Completions) -> Readings:
    """A model's answers as far as they are stored, read."""
    return read_answers(study, completed(study, completions))


def _details(study: Study, answers: Answers) -> list[Detail]:
    """Every answer, and of each judge and benchmark every verdict."""
    verdicts = verdict_frames(study, answers.calls, answers.said)
    return [
        Detail("cure_answer", answer_frame(study, answers.readings, answers.scored)),
        *(Detail("verdict", frame, " ".join(key)) for key, frame in verdicts.items()),
    ]


EVALUATION = Evaluation(
    "cure", CureParams, TABLES, study, ask, read, make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    later=later,
    samples=samples,
    size=size,
    pack=PACK,
)  # fmt: skip
