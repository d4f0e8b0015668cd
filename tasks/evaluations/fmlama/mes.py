"""MES and the check of its judge: from marks to metric rows (FmLAMA, equations 9 and 10). Pure.

Judged are the predictions of the first condition under its first wording, of some dishes of each origin
(``Study.judged``). Marks that the judge did not give leave their dishes unscored, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from tasks.evaluations.fmlama.groups import interval
from tasks.evaluations.fmlama.judge import Marks
from tasks.evaluations.fmlama.requests import Study
from tasks.judging.judge_check import acceptances
from tasks.judging.prompts import UNANSWERED
from tasks.judging.verdicts import Verdict
from tasks.metric_rows import Interval, Metric, Slice, scored, unscored
from tasks.metrics.value_shift import wilson_interval

MAYBE = "Maybe"
MIN_DISHES = 3
"""The fewest that an interval over dishes is simulated for."""

NO_VERDICT = "the judge gave no verdict that could be read"
NO_GOLD = "no prediction that the judge saw is a reference ingredient"


@dataclass(frozen=True)
class DishScore:
    """S of one dish (equation 9) over the predictions that have a verdict.

    Attributes:
        value: share of Correct, in [0, 1]; None where no prediction has a verdict.
        maybe: share of Maybe, in [0, 1]; value + maybe is at most 1.
    """

    value: float | None
    maybe: float | None
    n_scored: int
    n_unscored: int


@dataclass(frozen=True)
class Mes:
    """MES of a group of dishes (equation 10) over the dishes that have a score.

    Attributes:
        value: mean of the dishes' values, in [0, 1], higher is better; None where no dish has a score.
        maybe: mean of the dishes' shares of Maybe.
        n_scored, n_unscored: dishes.
        n_predictions_unscored: predictions without a verdict, over all dishes.
    """

    value: float | None
    maybe: float | None
    n_scored: int
    n_unscored: int
    n_predictions_unscored: int


def dish_score(verdicts: Sequence[Verdict]) -> DishScore:
    """S = (1/l) * sum of M(p) over the top-l predictions p (equation 9); M is 1 for Correct, else 0.

    A prediction without a verdict is neither right nor wrong: it leaves the sum and l, and is counted.
    """
    values = [v.value for v in verdicts if v.value is not None]
    maybes = [v.verdict == MAYBE for v in verdicts if v.value is not None]
    n_unscored = len(verdicts) - len(values)
    if not values:
        return DishScore(None, None, 0, n_unscored)
    return DishScore(fmean(values), fmean(maybes), len(values), n_unscored)


def mes(scores: Sequence[DishScore]) -> Mes:
    """MES = (1/|G|) * sum of S over the dishes of a group G (equation 10), such as one origin's.

    Every dish counts the same, whatever its number of ingredients. The paper prints 100 times this.
    """
    values = [s.value for s in scores if s.value is not None]
    maybes = [s.maybe for s in scores if s.maybe is not None]
    n_predictions_unscored = sum(s.n_unscored for s in scores)
    if not values:
        return Mes(None, None, 0, len(scores), n_predictions_unscored)
    return Mes(fmean(values), fmean(maybes), len(values), len(scores) - len(values), n_predictions_unscored)


def mes_rows(
    study: Study, marks: Sequence[Marks] | str, null: Sequence[Marks] | str | None
) -> Iterator[Metric]:
    """MES and the share of Maybe, of all judged dishes and of each origin's; and the check of the judge.

    Args:
        marks: of every judged dish, or why the model has no predictions to judge.
        null: those of the baseline that the model is compared with; None: it is the weakest itself.
    """
    slug, knobs = study.probes[0].condition.slug, (study.params.bootstrap, study.params.seed)
    origins = study.judged_probe.origins
    groups: dict[Slice, str | None] = {("condition", slug): None}
    groups |= {("condition_origin", f"{slug}:{origin}"): str(origin) for origin in np.unique(origins)}
    for where, origin in groups.items():
        of_dish, chance = _dish_scores(marks, origin), mes(_dish_scores(null, origin))
        own = mes(of_dish)
        if own.value is None or own.maybe is None:
            n = int(np.count_nonzero(origins == origin)) if origin else len(origins)
            reason = marks if isinstance(marks, str) else _why(marks, origin)
            yield unscored("mes", where, reason, n, chance.value)
            yield unscored("mes_maybe", where, reason, n, chance.maybe)
            continue
        counts = (own.n_scored, own.n_unscored)
        values = np.array([np.nan if s.value is None else s.value for s in of_dish])
        yield scored("mes", where, own.value, counts, interval(values, knobs), chance.value)
        yield scored("mes_maybe", where, own.maybe, counts, None, chance.maybe)
    yield _check_row(study, marks, ("condition", slug))


def _check_row(study: Study, marks: Sequence[Marks] | str, where: Slice) -> Metric:
    """Share of the predictions from the reference, right whatever a judge says, that it marks Correct.

    Null: the share of Correct among all its marks, which a judge has who does not look at the reference.
    Points are predictions; one completion marks all those of a dish, so the interval is over dishes.
    """
    if isinstance(marks, str):
        n = int(study.judged_probe.relevant.sum())
        return unscored("judge_gold_accepted", where, marks, n)
    gold = [
        [v.value for v, predicted in zip(each.verdicts, each.dish.predicted, strict=False)
         if predicted in each.dish.reference]
        for each in marks
    ]  # fmt: skip
    if not any(gold):
        n = sum(len(each.verdicts) for each in marks)
        return unscored("judge_gold_accepted", where, NO_GOLD, n)
    reason = _why([each for each, dish in zip(marks, gold, strict=True) if dish], None)
    row = acceptances(where, [value for dish in gold for value in dish], reason)
    if row.value is None:
        return row
    every = [v.value for each in marks for v in each.verdicts if v.value is not None]
    low, high = share_interval(gold) or (None, None)
    return row._replace(null_value=fmean(every), ci_low=low, ci_high=high)


def share_interval(of_dish: Sequence[Sequence[float | None]]) -> Interval:
    """95 % interval of a share over the points of dishes, which are alike within a dish.

    Wilson's with the effective sample size (Rao and Scott 1992): p (1 - p) over the variance of the share
    between dishes; the number of dishes where the share is 0 or 1. Simulated with 1 to 5 points per dish, it
    covers the true share in 87 or more of 100 samples from 3 dishes on, mostly in 93 to 97, however alike
    the points are; resampling 5 dishes covers it in 60 to 83. None for fewer than 3 dishes.
    """
    known = [[value for value in dish if value is not None] for dish in of_dish]
    total = np.array([sum(dish) for dish in known if dish])
    n = np.array([len(dish) for dish in known if dish])
    if n.size < MIN_DISHES:
        return None
    points = float(n.sum())
    share = float(total.sum()) / points
    if share in (0.0, 1.0):
        return wilson_interval(share * n.size, n.size)
    variance = n.size / (n.size - 1) * float(((total - share * n) ** 2).sum()) / points**2
    effective = max(share * (1 - share) / max(variance, share * (1 - share) / points), 1.0)
    return wilson_interval(share * effective, effective)


def _dish_scores(marks: Sequence[Marks] | str | None, origin: str | None) -> list[DishScore]:
    chosen = [] if marks is None or isinstance(marks, str) else marks
    return [dish_score(each.verdicts) for each in chosen if origin in (None, each.dish.origin)]


def _why(marks: Sequence[Marks], origin: str | None) -> str:
    """Why no dish has a score."""
    is_answered = any(each.is_answered for each in marks if origin in (None, each.dish.origin))
    return NO_VERDICT if is_answered else UNANSWERED
