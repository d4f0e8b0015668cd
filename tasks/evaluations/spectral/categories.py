"""High or low, the four categories, and their F1 against people's. Pure.

High and low are relative to the medians over all questions and models (section 3.3). The models of these
medians are a cohort, which is frozen: one model more changes nobody else's categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np

from tasks.evaluations.spectral.requests import Question, Study
from tasks.evaluations.spectral.scores import (
    MIN_COUNTRIES,
    FloatArray,
    ModelScore,
    country_subsets,
    er_columns,
    sr_columns,
)
from tasks.loop.rows import OVERALL, Metric, resampled_points, scored, unscored
from tasks.metrics import classification, nulls
from tasks.metrics.intervals import SHARE, half_sample_interval
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import CATEGORIES, BoolArray, Category

METRICS = ("macro_f1", *(f"f1_{category}" for category in CATEGORIES))

UNIFORM_DRAWS = 10_000
NO_MEDIAN = "no model has a score to take the medians of"


class Split(NamedTuple):
    """High or low, for the estimate (entry 0) and for every half-sample of countries (entries 1 …)."""

    er_high: BoolArray
    sr_high: BoolArray


def splits(
    scores: Mapping[str, ModelScore], against: Mapping[str, ModelScore]
) -> dict[str, dict[str, Split]]:
    """Median split of every question of ``scores`` at the pooled medians of the models in ``against``.

    Half-sample b is split at the medians of everybody's half-sample b: the same countries were drawn for all.
    Without any score in ``against`` there is no median, and no question has a split.
    """
    pool = [q for s in against.values() for q in s.questions.values()]
    if not pool:
        return {model: {} for model in scores}
    er_median = classification.lower_median(np.array([er_columns(q) for q in pool]))
    sr_median = classification.lower_median(np.array([sr_columns(q) for q in pool]))
    return {
        model: {
            name: Split(er_columns(q) > er_median, sr_columns(q) > sr_median)
            for name, q in score.questions.items()
        }
        for model, score in scores.items()
    }


def category_rows(study: Study, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """Macro-F1 and F1 of each class against people's categories; beside them what guessing has on average."""
    asked = [q for q in study.questions if q.question in split]
    lost = len(study.questions) - len(asked)
    if not asked:
        reason = NO_MEDIAN if score.questions else "no question was scored"
        for metric in METRICS:
            yield unscored(metric, OVERALL, reason, lost)
        return
    human = _human(asked)
    columns = zip(*(_categories(split[q.question]) for q in asked), strict=True)  # 1 + half-samples
    f1 = _with_macro([classification.f1_per_class(human, column, sorted(set(human))) for column in columns])
    guessing = _guessing(asked, study.params.seed)
    for metric in METRICS:
        if metric in f1:
            value, *halves = f1[metric].tolist()
            ci = half_sample_interval(value, halves, len(study.countries), SHARE, MIN_COUNTRIES)
            points = None
            if metric == "macro_f1":
                points = resampled_points("half", list(study.countries), country_subsets(study)[0], halves)
            yield scored(metric, OVERALL, value, (len(asked), lost), ci, guessing[metric].mean(), points)
        else:
            yield _absent(metric, len(study.questions))


def constant_rows(study: Study, model: str) -> list[Metric]:
    """Rows of the predictors that see nothing at all: uniform categories, and LH everywhere.

    The interval of the first is the central 95 % of its draws.

    Raises:
        ValueError: another model than ``null:uniform-by-domain`` and ``null:always-LH``.
    """
    human = _human(study.questions)
    guessing = _guessing(study.questions, study.params.seed)
    if model == "null:always-LH":
        draws = _with_macro([classification.f1_per_class(human, ["LH"] * len(human), sorted(set(human)))])
    elif model == "null:uniform-by-domain":
        draws = guessing
    else:
        raise ValueError(f"{model!r} is no constant model: null:always-LH and null:uniform-by-domain are")
    rows = []
    for metric in METRICS:
        if metric in draws:
            low, high = np.quantile(draws[metric], [0.025, 0.975])
            value, null = draws[metric].mean(), guessing[metric].mean()
            rows.append(scored(metric, OVERALL, value, (len(human), 0), (low, high), null))
        else:
            rows.append(_absent(metric, len(human)))
    return rows


def _guessing(questions: Sequence[Question], seed: int) -> dict[str, FloatArray]:
    """Metric -> [draws] what one category per domain, drawn uniformly at random, scores."""
    domains = [list(g) for _, g in groupby(sorted(questions, key=_domain), key=_domain)]
    truth, weight = [_human(asked)[0] for asked in domains], [len(asked) for asked in domains]
    f1 = nulls.uniform_category_f1(truth, weight, UNIFORM_DRAWS, seed)
    return {"macro_f1": np.mean(list(f1.values()), axis=0)} | {f"f1_{c}": f1[c] for c in f1}


def _with_macro(f1: Sequence[Mapping[str, float]]) -> dict[str, FloatArray]:
    """Metric -> its values, from F1 by class of several predictions; macro-F1 is the mean over them."""
    table = {c: np.array([each[c] for each in f1]) for c in f1[0]}
    return {"macro_f1": np.mean(list(table.values()), axis=0)} | {f"f1_{c}": table[c] for c in table}


def _absent(metric: str, n: int) -> Metric:
    return unscored(metric, OVERALL, "no scored question has this human category", n)


def _human(questions: Sequence[Question]) -> list[Category]:
    """People's category of each question, that of its domain."""
    return [cast(Category, q.human_category) for q in questions]


def _domain(question: Question) -> str:
    return question.domain


def _categories(split: Split) -> list[Category]:
    """[1 + r] category of the estimate and of every replicate."""
    return [er_sr_category(bool(er), bool(sr)) for er, sr in zip(*split, strict=True)]
