"""High or low, the four categories, and their F1 against people's. Pure.

Categories compare models with each other: high and low are relative to the medians over all questions and
models (section 3.3), so one model more can change every model's categories, and rows are made for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np

from tasks.evaluations.spectral.metric import er_columns, sr_columns
from tasks.evaluations.spectral.requests import Question, Study
from tasks.evaluations.spectral.scores import FloatArray, ModelScore
from tasks.metric_rows import OVERALL, Metric, percentile, scored, unscored
from tasks.metrics import classification, nulls
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import CATEGORIES, BoolArray, Category

UNIFORM_DRAWS = 10_000
NO_MEDIAN = "no model has a score to take the medians of"


class Split(NamedTuple):
    """High or low, for the estimate (entry 0) and for every bootstrap replicate (entries 1 …)."""

    er_high: BoolArray
    sr_high: BoolArray


def splits(
    scores: Mapping[str, ModelScore], against: Mapping[str, ModelScore]
) -> dict[str, dict[str, Split]]:
    """Median split of every question of ``scores`` at the pooled medians of the models in ``against``.

    Replicate b is split at the medians of everybody's replicate b: the same countries were drawn for all.
    Without any score in ``against`` there is no median, and no question has a split.
    """
    pool = [q for s in against.values() for q in s.questions.values()]
    if not pool:
        return {model: {} for model in scores}
    er_median = _lower_median(np.array([er_columns(q) for q in pool]))
    sr_median = _lower_median(np.array([sr_columns(q) for q in pool]))
    return {
        model: {
            name: Split(er_columns(q) > er_median, sr_columns(q) > sr_median)
            for name, q in score.questions.items()
        }
        for model, score in scores.items()
    }


def category_rows(study: Study, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """Macro-F1 and F1 of each class against people's categories, and what a median split can reach at all."""
    asked = [q for q in study.questions if q.question in split]
    lost = len(study.questions) - len(asked)
    if asked:
        human = _human(asked)
        uniform = _Uniform(asked, study.params.seed)
        guesses = [_categories(split[q.question]) for q in asked]
        columns = list(zip(*guesses, strict=True))  # 1 + replicates
        macro = [classification.macro_f1(human, column) for column in columns]
        counts = (len(asked), lost)
        yield scored("macro_f1", OVERALL, macro[0], counts, percentile(macro[1:]), uniform.macro.mean)
        each = [classification.f1_per_class(human, column) for column in columns]
        for c in CATEGORIES:
            if c in human:
                ci = percentile(f[c] for f in each[1:])
                yield scored(f"f1_{c}", OVERALL, each[0][c], counts, ci, uniform.mean(c))
            else:
                yield _absent(c, len(study.questions))
    else:
        reason = NO_MEDIAN if score.questions else "no question was scored"
        for metric in ("macro_f1", *(f"f1_{c}" for c in CATEGORIES)):
            yield unscored(metric, OVERALL, reason, lost)
    if len(study.questions) > 1:
        ceiling = classification.median_split_ceiling(_human(study.questions))
        yield scored("macro_f1_ceiling", OVERALL, ceiling, (len(study.questions), 0), (ceiling, ceiling))
    else:
        yield unscored("macro_f1_ceiling", OVERALL, "one question has no median split", 1)


def constant_rows(study: Study, model: str) -> list[Metric]:
    """Rows of the predictors that see nothing at all: uniform categories, and LH everywhere.

    Raises:
        ValueError: another model than ``null:uniform-by-domain`` and ``null:always-LH``.
    """
    human = _human(study.questions)
    uniform = _Uniform(study.questions, study.params.seed)
    macro: tuple[float, float, float]
    if model == "null:always-LH":
        value = nulls.constant_category_macro_f1(human, "LH")
        f1 = classification.f1_per_class(human, ["LH"] * len(human))
        macro, each = (value, value, value), {c: (f1[c], f1[c], f1[c]) for c in CATEGORIES}
    elif model == "null:uniform-by-domain":
        macro, each = uniform.macro, {c: (uniform.mean(c), *uniform.interval(c)) for c in CATEGORIES}
    else:
        raise ValueError(f"{model!r} is no constant model: null:always-LH and null:uniform-by-domain are")
    counts = (len(human), 0)
    rows = [scored("macro_f1", OVERALL, macro[0], counts, macro[1:], uniform.macro.mean)]
    for c, (value, *ends) in each.items():
        if c in human:
            rows.append(scored(f"f1_{c}", OVERALL, value, counts, (ends[0], ends[1]), uniform.mean(c)))
        else:
            rows.append(_absent(c, len(human)))
    return rows


class _Uniform:
    """What drawing one category per domain uniformly at random scores on some questions.

    The draws are those of ``nulls.uniform_category_macro_f1``, so the F1s average to its macro-F1.
    """

    def __init__(self, questions: Sequence[Question], seed: int) -> None:
        domains = [list(g) for _, g in groupby(sorted(questions, key=_domain), key=_domain)]
        self.truth = [_human(asked)[0] for asked in domains]
        self.weight = np.array([len(asked) for asked in domains])
        self.macro = nulls.uniform_category_macro_f1(self.truth, self.weight.tolist(), UNIFORM_DRAWS, seed)
        generator = np.random.Generator(np.random.PCG64(seed))
        self.guess = generator.integers(0, len(CATEGORIES), size=(UNIFORM_DRAWS, len(domains)), dtype=np.intp)

    def mean(self, category: Category) -> float:
        """Expected F1 of a category."""
        return float(self._f1(category).mean())

    def interval(self, category: Category) -> tuple[float, float]:
        """Central 95 % of its F1."""
        low, high = np.quantile(self._f1(category), [0.025, 0.975])
        return float(low), float(high)

    def _f1(self, category: Category) -> FloatArray:
        """[draws] 2 TP / (true + predicted); 0 where the category is neither."""
        guessed = self.guess == CATEGORIES.index(category)
        true = np.array([c == category for c in self.truth])
        named = self.weight[true].sum() + guessed @ self.weight
        f1: FloatArray = 2 * (guessed[:, true] @ self.weight[true]) / np.maximum(named, 1)
        return f1


def _absent(category: Category, n: int) -> Metric:
    return unscored(f"f1_{category}", OVERALL, "no scored question has this human category", n)


def _human(questions: Sequence[Question]) -> list[Category]:
    """People's category of each question, that of its domain."""
    return [cast(Category, q.human_category) for q in questions]


def _domain(question: Question) -> str:
    return question.domain


def _categories(split: Split) -> list[Category]:
    """[1 + r] category of the estimate and of every replicate."""
    return [er_sr_category(bool(er), bool(sr)) for er, sr in zip(*split, strict=True)]


def _lower_median(table: FloatArray) -> FloatArray:
    """[columns] the largest value that counts as low (``classification.median_split``'s rule)."""
    lower: FloatArray = np.sort(table, axis=0)[(len(table) - 1) // 2]
    return lower
