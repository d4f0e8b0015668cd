"""Any task of lm-evaluation-harness as an evaluation: its prompts and scoring, our loop and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tasks.engines.protocols import Message, PairScores
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
from tasks.evaluations.harness import examples, kept, read, rows
from tasks.evaluations.harness.library import VERSION, HarnessTask, context_of
from tasks.evaluations.harness.study import (
    OWN,
    HarnessItem,
    HarnessParams,
    HarnessStudy,
    build_study,
)
from tasks.evaluations.recipe.study import HEADLINE
from tasks.evaluations.until import ItemMean, stoppable
from tasks.loop.requests import Request
from tasks.loop.samples import Sample, Score, listed, question, sample
from tasks.metrics.intervals import SHARE

TITLE = "How does a model do on tasks of lm-evaluation-harness?"
CAPTION = (
    "Score: mean over documents of each task's first metric. Null: the best of chance, one place, the "
    "longest, shortest and most popular option, and of the commonest and another document's answer; without, "
    "other question: what the model scores when it cannot know."
)


def _ask(study: HarnessStudy, completions: Completions) -> Sequence[Request[Any]]:
    return study.requests()


def _rows(study: HarnessStudy, cohort: Cohort[dict[str, read.HarnessScores]], shared: Any) -> Tables:
    """Return rows of the models and null models, and every answer."""
    nulls = rows.NullModels(study, read.nulls(study))
    metrics = nulls.rows()
    metrics |= {name: rows.model_rows(study, own, nulls) for name, own in cohort.models.items()}
    details = {
        name: [Detail("item_answer", _answer_frame(study, own))] for name, own in cohort.models.items()
    }
    return Tables(metrics, details)


def _answer_frame(study: HarnessStudy, scored: Mapping[str, read.HarnessScores]) -> pl.DataFrame:
    """Return a row per document and condition; missing values are null."""
    n, targets = len(study.items), [item.task.target(item.doc) or None for item in study.items]
    frames = [
        pl.DataFrame(
            {
                "config_hash": [comparable(study)] * n,
                "condition": [condition] * n,
                "item": study.names.tolist(),
                "cluster": study.clusters.tolist(),
                "answer": [text or None for text in own.headline.texts],
                "target": targets,
                "value": own.headline.values,
                "unscored_reason": [reason or None for reason in own.headline.reasons],
                "lost": [why or None for why in own.headline.lost],
            },
            schema_overrides=dict.fromkeys(("answer", "target", "unscored_reason", "lost"), pl.String),
        )
        for condition, own in scored.items()
    ]
    return pl.concat(frames).with_columns(pl.col("value").fill_nan(None))


def _size(study: HarnessStudy) -> str:
    """Return the number of documents, examples and clusters of each task."""
    lines = []
    for task in study.tasks.values():
        own = [item for item in study.items if item.task is task]
        by, shots = study.clustered_by[task.name], task.library.config.num_fewshot or 0
        clusters = f"in {len({item.cluster for item in own})} clusters ({by})"
        if by == OWN:
            clusters = "each its own cluster: --cluster FIELD names what they vary by"
        n = f"{len(own)} of {task.n_documents}" if len(own) < task.n_documents else f"{len(own)}"
        lines.append(f"{task.name}: {n} documents, {shots}-shot{_examples(task)}, {clusters}")
        lines += [f"{task.name}: {trouble}" for trouble in task.filter_troubles]
        if task.wrong_labels:
            doc, why = next(iter(task.wrong_labels.items()))
            n_wrong = f"{len(task.wrong_labels)} of {len(own)} documents will be unscored"
            lines.append(f"{task.name}: {n_wrong}: of document {doc}, {why}")
    return "\n".join(lines)


def _examples(task: HarnessTask) -> str:
    return f" (from {place})" if (place := examples.source(task.library)) else ""


def _item_rows(study: HarnessStudy) -> Rows:
    return [
        {
            "item": item.name,
            "cluster": item.cluster,
            "content": json.loads(json.dumps(item.task.documents[item.doc], default=str, ensure_ascii=False)),
        }
        for item in study.items
    ]


def _samples(study: HarnessStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every document's sample without controls and null models, which are in SQL (``item_answer``)."""
    answers = read.stored(study, HEADLINE, completions)
    own = read.scored(study, HEADLINE, answers)
    for place, item in enumerate(study.items):
        value, why = float(own.headline.values[place]), own.headline.reasons[place] or None
        scores = {rows.SCORE: Score.of(value, why, answer=own.headline.texts[place] or None)}
        for metric, raw in own.values.get(item.name, {}).items():
            if (number := read.number(raw)) is not None:
                scores[metric] = Score.of(number)
        yield _sample(item, study, answers.get(item.name), scores)


def _sample(item: HarnessItem, study: HarnessStudy, answer: Any, scores: Mapping[str, Score]) -> Sample:
    metadata = {"task": item.task.name, "cluster": item.cluster, **item.fields}
    target = item.task.target(item.doc)
    if item.task.writes:
        prompt = read.prompts_of(study, item)[0]
        return sample(
            item.name, prompt, answer[0] if answer else None, target=target, scores=scores, metadata=metadata
        )
    choices = item.task.choices(item.doc) if item.task.chooses else []
    output = ""
    if isinstance(answer, PairScores):
        names = choices if len(choices) <= len(answer.logprob) else []
        pairs = zip(names or [target], answer.logprob.tolist(), strict=False)
        output = listed(sorted(pairs, key=lambda pair: -pair[1]), "log-probability")
    context = context_of(item.task.instances[item.doc][0])
    messages: Sequence[Message] = question(context) if isinstance(context, str) else context
    return Sample(
        item.name, messages, output, target=target, choices=choices, finish_reason="stop" if output else "",
        scores=scores, metadata=metadata,
    )  # fmt: skip


_ABOUT = About(
    title=TITLE,
    models=("smollm2-135m",),
    profiles={"smoke": {"limit": 10}, "demo": {"limit": 100}, "full": {}},
    examples=(),
    caption=CAPTION,
    judged="",
    metrics=rows.catalogue(),
    doubts={f"{control}_gain": rows.SCORE for control in rows.CONTROLS},
    items=_item_rows,
    page={
        "page_title": TITLE,
        "headline": rows.SCORE,
        "null": "the best of each task",
        "prompt": "as each task has it",
        "cluster": "cluster",
        "slices": None,
        "also": ["examples_evaluated"],
        "lost": "refused or empty",
        "controls": {f"{rows.SCORE}_{control}": f"{control}_gain" for control in rows.CONTROLS},
        "checks": [],
        "facts": {"Library": f"lm-evaluation-harness {VERSION}"},
    },
    more=rows.catalogue_of,
)

_MEAN = ItemMean(
    metric=lambda study: (rows.SCORE, SHARE),
    items=lambda study: [(item.name, item.cluster) for item in study.items],
    only=lambda study, places: study.of_items(places),
    ask=lambda study, completions: study.headline_requests(),
    scores=lambda study, answers: answers[HEADLINE].headline.reasoned,
    null=lambda study, shared: rows.NullModels(study, read.nulls(study)).mean(
        np.ones(len(study.items), dtype=np.bool_)
    ),
)
_WHOLE: Evaluation[HarnessParams, HarnessStudy, dict[str, read.HarnessScores]] = Evaluation(
    "harness",
    HarnessParams,
    {},
    build_study,
    _ask,
    read.read,
    _rows,
    size=_size,
    compares=False,
    samples=_samples,
    about=_ABOUT,
    content=lambda study: kept.content(study.tasks.values()),
    restored=lambda name, rows: stoppable(replace(_WHOLE, study=partial(build_study, stored=rows)), _MEAN),
)
EVALUATION = stoppable(_WHOLE, _MEAN)
