"""The culturall evaluation as the loop sees it: answers to grounded tasks, then judges on the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.culturall import rows
from tasks.evaluations.culturall.answer_rows import about, answer_frame
from tasks.evaluations.culturall.answers import Answers, calls, checks, completed, read
from tasks.evaluations.culturall.pack import PACK
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.requests import Study, build_study
from tasks.evaluations.culturall.samples import samples
from tasks.evaluations.culturall.scores import score
from tasks.judging.panel import Opinions
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later

TABLES = {"culturall_item": "SELECT * FROM culturall_item ORDER BY item"}


def study(params: CulturallParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Items from the warehouse, or from a file in their place; see ``build_study``."""
    if params.file and params.pack:
        raise ValueError("--pack adds to the shipped items, which --file replaces: give one or the other")
    return build_study(params, tables["culturall_item"], engines)


def ask(study: Study, completions: Completions) -> list[Prompts]:
    """Every item under every condition; then each judge about the answers that are there."""
    asked = [study.request(condition) for condition in study.conditions]
    return asked + study.panel.requests(calls(study, completed(study, completions)))


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
    longest = max(checks(study), key=lambda call: sum(map(len, study.by_id[call.item].native)), default=None)
    return study.panel.later(len(study.prompts), longest, study.params.max_tokens)


def _details(study: Study, answers: Answers) -> list[Detail]:
    """Every answer, and every verdict of each judge."""
    verdicts = study.panel.verdicts(answers.calls, answers.said, partial(about, study))
    return [
        Detail("culturall_answer", answer_frame(study, answers.by_key)),
        *(Detail("verdict", frame, judge) for judge, frame in verdicts.items()),
    ]


def size(study: Study) -> str:
    """How many items there are, and which rows of a file are none."""
    dropped = [f"{name} {n}" for name, n in study.loaded.dropped.items() if name != "not_chosen"]
    left_out = f"; rows left out: {', '.join(dropped)}" if dropped else ""
    return f"{len(study.items)} items in {len({i.language for i in study.items})} languages{left_out}"


EVALUATION = Evaluation(
    "culturall", CulturallParams, TABLES, study, ask,
    lambda study, completions, checked: read(study, completions),
    make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    shared=Shared(
        lambda study, completions: study.panel.requests(checks(study)),
        lambda study, completions: study.panel.read(checks(study), completions),
    ),
    later=later,
    size=size,
    samples=samples,
    pack=PACK,
)  # fmt: skip
