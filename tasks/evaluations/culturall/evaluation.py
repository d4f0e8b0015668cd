"""Connects the culturall evaluation to the loop: answers to grounded tasks, then judges' verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tasks.evaluations.choosing import left_out
from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.culturall import read, rows
from tasks.evaluations.culturall.items import FROM_PACK
from tasks.evaluations.culturall.pack import PACK
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.read import CulturallAnswers
from tasks.evaluations.culturall.study import CulturallStudy, build_study
from tasks.evaluations.until import ItemMean, stoppable
from tasks.judging.panel import Opinions
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later
from tasks.loop.rows import mean_of
from tasks.metrics.intervals import SHARE
from tasks.packs.wording import templates

TABLES = {"culturall_item": "SELECT * FROM culturall_item ORDER BY item"}


def study(
    params: CulturallParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]
) -> CulturallStudy:
    """Build the study from the items of the warehouse, or of a file in their place; see ``build_study``."""
    items = tables["culturall_item"]
    if params.file and any(row.get("source") == FROM_PACK for row in items):
        raise ValueError("a pack brings items and --file replaces all items: use one or the other")
    return build_study(params, items, engines, templates(tables))


def ask(study: CulturallStudy, completions: Completions) -> list[Prompts]:
    """Return the requests of every item under every condition, then each judge's prompts about answers."""
    return study.requests() + study.panel.requests(read.calls(study, study.completed(completions)))


def make_rows(study: CulturallStudy, cohort: Cohort[CulturallAnswers], checked: Opinions) -> Tables:
    """Return rows of the models and the nulls, and tables of every answer and verdict. Difficulty comes from
    the cohort's models, so no row changes because another model ran.
    """
    everybody = {**cohort.against, **cohort.models}
    answered = {model: rows.scores_of(study, answers.by_key) for model, answers in everybody.items()}
    of_judges, metrics = rows.check_rows(study, checked or {}), rows.null_rows(study)
    for model in cohort.models:
        others = [other for other in cohort.against if other != model]
        candidate = cohort.engines[model].model
        metrics[model] = [*rows.model_rows(study, model, candidate, answered, others), *of_judges]
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def _details(study: CulturallStudy, answers: CulturallAnswers) -> list[Detail]:
    """Return the tables of every answer and of each judge's verdicts."""
    verdicts = study.panel.verdicts(answers.calls, answers.opinions, partial(read.about, study))
    return [
        Detail("culturall_answer", read.answer_frame(study, answers.by_key)),
        *(Detail("verdict", frame, judge) for judge, frame in verdicts.items()),
    ]


def later(study: CulturallStudy) -> Iterable[Later]:
    """Return the prompts that each judge may be sent about a model: every answer once."""
    checks = read.checks(study)
    longest = max(checks, key=lambda call: sum(map(len, study.by_id[call.item].native)), default=None)
    return study.panel.later(len(study.prompts), longest, study.params.max_tokens)


def size(study: CulturallStudy) -> str:
    """Return the number of items and of rows left out, in words."""
    n_languages = len({item.language for item in study.items})
    return f"{len(study.items)} items in {n_languages} languages" + left_out("rows", study.loaded.dropped)


def _of_headline(study: CulturallStudy, places: Sequence[int]) -> CulturallStudy:
    """Return the study of some items, in their own language."""
    items = tuple(study.items[place] for place in places)
    params = study.params.model_copy(update={"conditions": ["native"]})
    return replace(study, params=params, loaded=replace(study.loaded, items=items))


def _refused(study: CulturallStudy) -> str:
    if "native" not in study.conditions:
        return "the condition native is not asked"
    return "" if study.judges else "without a judge its accuracy is a range"


_MEAN = ItemMean(
    metric=lambda study: ("accuracy", SHARE),
    items=lambda study: [
        (item.item, str(cluster))
        for item, cluster in zip(study.items, study.clusters(np.full(len(study.items), True)), strict=True)
    ],
    only=_of_headline,
    ask=ask,
    scores=lambda study, answers: rows.scores_of(study, answers.by_key)["accuracy"].reasoned,
    null=lambda study, shared: mean_of(rows.guessing(study.items)),
    refused=_refused,
)
EVALUATION = stoppable(Evaluation(
    "culturall", CulturallParams, TABLES, study, ask,
    lambda study, completions, checked: read.read(study, completions),
    make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    shared=Shared(
        lambda study, completions: study.panel.requests(read.checks(study)),
        lambda study, completions: study.panel.read(read.checks(study), completions),
    ),
    later=later,
    size=size,
    samples=read.samples,
    pack=PACK,
), _MEAN)  # fmt: skip
