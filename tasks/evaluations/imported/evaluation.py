"""Imported logs as an evaluation: the answers and scores are another program's, the rows are ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from tasks.evaluations.about import About
from tasks.evaluations.contract import (
    Cohort,
    Completions,
    Detail,
    Evaluation,
    Rows,
    Tables,
    comparable,
)
from tasks.evaluations.imported import rows
from tasks.evaluations.imported.study import (
    NAME,
    NOT_RUN,
    ImportedAnswer,
    ImportedItem,
    ImportedParams,
    ImportedStudy,
    content,
    items_of,
)
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.loop.requests import Engine, Request
from tasks.loop.samples import Sample

TITLE = "What do the logs of other programs say?"
CAPTION = (
    "Score: mean over items of the log's own scores. Null: what a model scores that reads no question, where "
    "the log has options or right answers. Intervals are over clusters (--cluster), else over items."
)


@dataclass(frozen=True)
class ImportedScores:
    """One model's scores: the headline's, and all answers by item."""

    headline: ConditionScores
    answers: Mapping[str, ImportedAnswer]


def _study(
    items: tuple[ImportedItem, ...],
    params: ImportedParams,
    tables: Mapping[str, Rows],
    engines: Mapping[str, Engine],
) -> ImportedStudy:
    if not items:
        raise ValueError(f"{NAME}: {NOT_RUN}")
    return ImportedStudy(params, items)


def _ask(study: ImportedStudy, completions: Completions) -> Sequence[Request[Any]]:
    return [study.request]


def _read(study: ImportedStudy, completions: Completions, shared: Any) -> ImportedScores:
    answers = completions(study.request)
    return ImportedScores(rows.scores_of(study, answers), answers)


def _rows(study: ImportedStudy, cohort: Cohort[ImportedScores], shared: Any) -> Tables:
    """Return rows of the models and null models, and every answer."""
    nulls = rows.nulls_of(study)
    metrics = rows.null_rows(study, nulls)
    metrics |= {
        name: rows.model_rows(study, own.headline, own.answers, nulls) for name, own in cohort.models.items()
    }
    details = {
        name: [Detail("item_answer", _answer_frame(study, own.headline))]
        for name, own in cohort.models.items()
    }
    return Tables(metrics, details)


def _answer_frame(study: ImportedStudy, scores: ConditionScores) -> pl.DataFrame:
    """Return a row per item; missing values are null."""
    n = len(study.items)
    return pl.DataFrame(
        {
            "config_hash": [comparable(study)] * n,
            "condition": [""] * n,
            "item": study.names.tolist(),
            "cluster": study.clusters.tolist(),
            "answer": [text or None for text in scores.texts],
            "target": [item.target or None for item in study.items],
            "value": scores.values,
            "unscored_reason": [reason or None for reason in scores.reasons],
            "lost": [why or None for why in scores.lost],
        },
        schema_overrides=dict.fromkeys(("answer", "target", "unscored_reason", "lost"), pl.String),
    ).with_columns(pl.col("value").fill_nan(None))


def _samples(study: ImportedStudy, completions: Completions) -> Iterator[Sample]:
    """Yield a model's samples while its log is imported; later they are read as they were stored."""
    assert completions.candidate is not None
    if opened := study.texts.get(completions.candidate.name):
        yield from opened()


def _size(study: ImportedStudy) -> str:
    own = study.params
    grouped = (
        f"in {len(set(study.clusters.tolist()))} clusters ({own.cluster})"
        if own.cluster
        else "each its own cluster"
    )
    return f"{own.task}: {len(study.items)} items, {grouped}; {own.harness} {own.harness_version}".rstrip()


def _item_rows(study: ImportedStudy) -> Rows:
    return [
        {
            "item": item.name,
            "cluster": item.cluster,
            "content": {**dict(zip(study.params.by, item.slices, strict=True)), "same": list(item.also)},
        }
        for item in study.items
    ]


def evaluation_of(
    items: tuple[ImportedItem, ...] = (), metrics: Sequence[str] = (), published: Rows = ()
) -> Evaluation[ImportedParams, ImportedStudy, ImportedScores]:
    """Return the evaluation of items.

    Args:
        metrics: further metrics of the log, for the catalogue.
        published: numbers that others published, all of them.
    """
    about = replace(_ABOUT, published=published, more=lambda study: rows.catalogue_of(metrics))
    return Evaluation(
        NAME,
        ImportedParams,
        {},
        partial(_study, items),
        _ask,
        _read,
        _rows,
        size=_size,
        compares=False,
        whole="its answers are all there",
        samples=_samples,
        about=about,
        content=content,
        restored=_restored,
    )


def _restored(name: str, stored: Rows) -> Evaluation[ImportedParams, ImportedStudy, ImportedScores]:
    return evaluation_of(items_of(stored))


_ABOUT = About(
    title=TITLE,
    models=("smollm2-135m",),
    profiles={"smoke": {}, "demo": {}, "full": {}},
    examples=(),
    caption=CAPTION,
    judged="",
    metrics=rows.catalogue(),
    doubts={},
    items=_item_rows,
    page={
        "page_title": TITLE,
        "headline": rows.SCORE,
        "null": "the best that reads no question",
        "prompt": "as the log has it: culturemeter browse imported shows each prompt",
        "cluster": "cluster",
        "slices": None,
        "also": [rows.STDERR],
        "lost": "lost",
        "controls": {},
        "checks": [],
        "facts": {},
    },
)

EVALUATION = evaluation_of()
