"""MES and the check of its judge: from marks to metric rows (FmLAMA, equations 9 and 10). Pure.

Judged are the predictions of the first condition under its first wording, of some dishes of each origin
(``Study.judged``). Marks that the judge did not give leave their dishes unscored, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from tasks.evaluations.fmlama.judge import Marks
from tasks.evaluations.fmlama.requests import Study
from tasks.judging.controls import acceptances
from tasks.judging.verdicts import UNANSWERED, Verdict
from tasks.loop.rows import OVERALL, Metric, Slice, item_points, mean_of, mean_row, unscored
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import FloatArray

MAYBE = "Maybe"
NO_VERDICT = "the judge gave no verdict that could be read"
NO_GOLD = "no prediction that the judge saw is a reference ingredient"


def dish_score(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """S = (1/l) * sum of M(p) over the top-l predictions p (equation 9), and the share of Maybe.

    M is 1 for Correct, else 0. A prediction without a verdict is neither right nor wrong: it leaves the sum
    and l. Both in [0, 1], together at most 1; NaN where no prediction has a verdict.
    """
    values = [v.value for v in verdicts if v.value is not None]
    maybes = [v.verdict == MAYBE for v in verdicts if v.value is not None]
    return (fmean(values), fmean(maybes)) if values else (math.nan, math.nan)


def mes_rows(
    study: Study, marks: Sequence[Marks] | str, null: Sequence[Marks] | str | None
) -> Iterator[Metric]:
    """MES (equation 10: every dish counts the same), of all judged dishes and of each origin's, the share of
    Maybe, and the check of the judge. MES of all is the overall one too: one condition is judged.

    Args:
        marks: of every judged dish, or why the model has no predictions to judge.
        null: those of the baseline that the model is compared with; None: it is the weakest itself.
    """
    slug, origins = study.probes[0].condition.slug, study.judged_probe.origins
    groups: dict[Slice, str | None] = {("condition", slug): None}
    groups |= {("condition_origin", f"{slug}:{origin}"): str(origin) for origin in np.unique(origins)}
    for where, origin in groups.items():
        n = int(np.count_nonzero(origins == origin)) if origin else len(origins)
        own, chance = _dish_scores(marks, origin, n), _dish_scores(null, origin, n)
        reason = marks if isinstance(marks, str) else _why(marks, origin)
        for metric, of_dish, by_chance in zip(("mes", "mes_maybe"), own, chance, strict=True):
            row = mean_row(metric, where, of_dish, reason, bounds=SHARE, null=mean_of(by_chance))
            yield row
            if metric == "mes" and origin is None:
                dishes = [""] * n if isinstance(marks, str) else [each.dish.url for each in marks]
                points = item_points(dishes, of_dish)
                yield row._replace(slice_kind=OVERALL[0], slice=OVERALL[1], points=points)
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
    dishes = [number for number, dish in enumerate(gold) for _ in dish]
    row = acceptances(where, [value for dish in gold for value in dish], reason, dishes)
    every = [v.value for each in marks for v in each.verdicts if v.value is not None]
    return row if row.value is None else row._replace(null_value=fmean(every))


def _dish_scores(marks: Sequence[Marks] | str | None, origin: str | None, n: int) -> FloatArray:
    """[2, dishes] S and the share of Maybe of the dishes of an origin; NaN for all n without marks."""
    chosen = [] if marks is None or isinstance(marks, str) else marks
    of_dish = [dish_score(each.verdicts) for each in chosen if origin in (None, each.dish.origin)]
    return np.array(of_dish or [(math.nan, math.nan)] * n).T


def _why(marks: Sequence[Marks], origin: str | None) -> str:
    """Why no dish has a score."""
    is_answered = any(each.is_answered for each in marks if origin in (None, each.dish.origin))
    return NO_VERDICT if is_answered else UNANSWERED
