"""Connects the cure evaluation to the loop: labels and explanations, then judges' verdicts on explanations.
Judges are prompted about a benchmark only when all of a model's explanations of it exist. Otherwise a later
explanation could replace a shuffled one that was already judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Tables
from tasks.evaluations.cure import details, read, rows
from tasks.evaluations.cure.pack import PACK
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.scores import CureAnswers, answers_of
from tasks.evaluations.cure.study import CureStudy, Published, build_study
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later
from tasks.packs.published import read_rows

TABLES = {
    "cure_item": "SELECT * FROM cure_item ORDER BY benchmark, item",
    "country": "SELECT country, name FROM country ORDER BY country",
}


def study(params: CureParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> CureStudy:
    """Build the study from items of the warehouse, or of published files in their place; see ``build_study``.

    Raises:
        ValueError: there are files for a benchmark that is not chosen, or files that cannot be read.
    """
    unused = ", ".join(benchmark for benchmark in params.files if benchmark not in params.benchmarks)
    if unused:
        raise ValueError(
            f"files of {unused}, which `benchmarks` does not name: add it there, or leave the files out"
        )
    files: Published = {
        str(b): {path: read_rows(path) for path in paths} for b, paths in params.files.items()
    }
    return build_study(params, tables, files, engines)


def ask(study: CureStudy, completions: Completions) -> list[Prompts]:
    """Return the requests of every benchmark in every mode, then each judge's prompts about the
    explanations.
    """
    if not study.is_judged:
        return study.requests()
    readings = read.read_answers(study, study.completed(completions))
    ready = {b for b in study.benchmarks if read.is_answered(study, b, readings)}
    calls = [call for call in read.judge_calls(study, readings) if call.item.benchmark in ready]
    return study.requests() + study.panel.requests(calls)


def make_rows(study: CureStudy, cohort: Cohort[CureAnswers], shared: object) -> Tables:
    """Return rows of the models and the nulls, and tables of every answer and verdict."""
    scored = {model: answers.scored for model, answers in cohort.models.items()}
    candidates = {model: cohort.engines[model].model for model in scored}
    metrics = rows.model_rows(study, scored, candidates) | rows.null_rows(study)
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def _details(study: CureStudy, answers: CureAnswers) -> list[Detail]:
    """Return the tables of every answer, and of the verdicts by judge and benchmark."""
    verdicts = details.verdict_frames(study, answers.calls, answers.opinions)
    return [
        Detail("cure_answer", details.answer_frame(study, answers.readings, answers.scored)),
        *(Detail("verdict", frame, " ".join(key)) for key, frame in verdicts.items()),
    ]


def later(study: CureStudy) -> Iterable[Later]:
    """Return the most calls of each judge about a model: every explanation, and the drawn items' nulls."""
    empty, n = read.most_calls(study)
    # The length of the explanation is added to the prompt with an empty one.
    longest = max(empty, key=lambda call: len(call.item.gold) + len(call.item.question), default=None)
    return study.panel.later(n, longest, study.params.max_tokens)


def size(study: CureStudy) -> str:
    """Return the number of items of each benchmark, and of items with judged null explanations, in words."""
    items = ", ".join(f"{name} {len(study.items(name))}" for name in study.benchmarks)
    if not study.is_judged:
        return items
    nulls = ", ".join(f"{name} {len(study.chosen.with_nulls[name])}" for name in study.benchmarks)
    return f"{items}; with judged null explanations: {nulls}"


EVALUATION = Evaluation(
    "cure", CureParams, TABLES, study, ask,
    lambda study, completions, shared: answers_of(study, completions),
    make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    later=later,
    samples=details.samples,
    size=size,
    pack=PACK,
)  # fmt: skip
