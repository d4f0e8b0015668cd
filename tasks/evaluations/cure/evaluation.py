"""The cure evaluation as the loop sees it: labels and explanations, then judges on the explanations.

Judges are asked about a benchmark once all of a model's explanations of it are there, so that no shuffled
explanation has to be judged that a later one would replace.
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
    """Items from the warehouse, or from published files in their place; see ``build_study``.

    Raises:
        ValueError: files are given of a benchmark that is not asked, or cannot be read.
    """
    unused = ", ".join(benchmark for benchmark in params.files if benchmark not in params.benchmarks)
    if unused:
        raise ValueError(
            f"files of {unused}, which is not among the benchmarks: add it there, or leave them out"
        )
    files: Published = {
        str(b): {path: read_rows(path) for path in paths} for b, paths in params.files.items()
    }
    return build_study(params, tables, files, engines)


def ask(study: CureStudy, completions: Completions) -> list[Prompts]:
    """Every benchmark in every mode; then, of each judge, the explanations that are there."""
    if not study.is_judged:
        return study.requests()
    readings = read.read_answers(study, study.completed(completions))
    ready = {b for b in study.benchmarks if read.is_answered(study, b, readings)}
    calls = [call for call in read.judge_calls(study, readings) if call.item.benchmark in ready]
    return study.requests() + study.panel.requests(calls)


def make_rows(study: CureStudy, cohort: Cohort[CureAnswers], shared: object) -> Tables:
    """Rows of the models and of those that know nothing, every answer, and every verdict."""
    scored = {model: answers.scored for model, answers in cohort.models.items()}
    against = {model: answers.scored for model, answers in cohort.against.items()}
    candidates = {model: cohort.engines[model].model for model in scored}
    metrics = rows.model_rows(study, scored, against, candidates) | rows.null_rows(study)
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def _details(study: CureStudy, answers: CureAnswers) -> list[Detail]:
    """Every answer, and of each judge and benchmark every verdict."""
    verdicts = details.verdict_frames(study, answers.calls, answers.opinions)
    return [
        Detail("cure_answer", details.answer_frame(study, answers.readings, answers.scored)),
        *(Detail("verdict", frame, " ".join(key)) for key, frame in verdicts.items()),
    ]


def later(study: CureStudy) -> Iterable[Later]:
    """The calls of each judge about a model at most: every explanation, and null ones of the drawn items."""
    empty, n = read.most_calls(study)
    # The explanation comes on top of an empty one's prompt.
    longest = max(empty, key=lambda call: len(call.item.gold) + len(call.item.question), default=None)
    return study.panel.later(n, longest, study.params.max_tokens)


def size(study: CureStudy) -> str:
    """Return the number of items of each benchmark, and of the items whose null explanations are judged."""
    items = ", ".join(f"{name} {len(study.items(name))}" for name in study.benchmarks)
    if not study.is_judged:
        return items
    nulls = ", ".join(f"{name} {len(study.chosen.with_nulls[name])}" for name in study.benchmarks)
    return f"{items}; of these null explanations are judged of {nulls}"


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
