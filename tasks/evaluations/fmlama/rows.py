"""Makes rows of ``metric_value`` from the scores of one model. Pure.

Slices: ("condition", "en:zh:no") is main language, subject language and whether the country is named;
("condition_origin", "en:zh:no:Italy") adds the origin, ("condition_template", "en:zh:no:fmlama-en-1") the
wording, ("condition_pooling", "en:zh:no:sum_logprob") how a candidate's score is pooled.
An unscored condition gets every row that a scored one has, with the reason. A dish counts once: its value is
its mean over templates. Intervals are over dishes. MES (Zhou et al. 2025, equations 9 and 10) covers some
dishes of each origin, with the predictions of the first condition under its first wording. A dish without the
judge's marks is unscored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.fmlama.judge import Marks
from tasks.evaluations.fmlama.params import POOLINGS
from tasks.evaluations.fmlama.read import ProbeScore
from tasks.evaluations.fmlama.study import FmlamaStudy
from tasks.judging.controls import acceptances
from tasks.judging.verdicts import UNANSWERED, Verdict
from tasks.loop.rows import (
    OVERALL,
    Metric,
    Slice,
    item_points,
    known_interval,
    mean_of,
    mean_row,
    resampled_points,
    scored,
    unscored,
)
from tasks.metrics import comparison, false_predictions
from tasks.metrics.agreement import pearson
from tasks.metrics.intervals import (
    CORRELATION,
    POSITIVE,
    SHARE,
    jackknife_groups,
    jackknife_interval,
    mean_interval,
)
from tasks.metrics.types import FloatArray

Baselines = Mapping[str, FloatArray]
"""condition slug -> [dishes] average precision of the better baseline"""


def model_rows(study: FmlamaStudy, scores: Sequence[ProbeScore], baselines: Baselines) -> list[Metric]:
    """Return all metric rows of one model."""
    rows: list[Metric] = []
    for score in scores:
        slug = score.probe.condition.slug
        rows += group_rows(score, ("condition", slug), np.arange(len(score.probe.dishes)))
        for origin, members in by_origin(score).items():
            rows += group_rows(score, ("condition_origin", f"{slug}:{origin}"), members)
        rows += _template_rows(score)
        rows += spread_rows(score, study.params.seed)
        rows += _gain_rows(score, baselines[slug])
        rows += _pooling_rows(score, baselines[slug])
    rows += _country_rows(scores)
    rows += _overall_rows(study, scores, baselines)
    return rows


def by_origin(score: ProbeScore) -> dict[str, np.typing.NDArray[np.intp]]:
    """Return the rows of each origin's dishes, origins in code-point order."""
    origins = score.probe.origins
    return {str(origin): np.flatnonzero(origins == origin) for origin in np.unique(origins)}


def best_baseline(candidates: Sequence[Sequence[ProbeScore]]) -> dict[str, FloatArray]:
    """Return condition -> [dishes] average precision of chance or a baseline, whichever has the best mAP."""
    best: dict[str, FloatArray] = {}
    for scores in zip(*candidates, strict=True):
        tables = [scores[0].expected.ap, *(dish_means(s.ap) for s in scores)]
        best[scores[0].probe.condition.slug] = max(tables, key=lambda table: float(table.mean()))
    return best


def _template_rows(score: ProbeScore) -> Iterator[Metric]:
    """Yield the mAP of every wording."""
    n = len(score.probe.dishes)
    null = float(score.expected.ap.mean())
    for template in score.probe.templates:
        where = ("condition_template", f"{score.probe.condition.slug}:{template.template}")
        if template.template in score.unscored:
            yield unscored("map", where, score.unscored[template.template], n, null)
        else:
            values = score.ap[score.templates.index(template)]
            yield mean_row("map", where, values, "", bounds=SHARE, null=null)


def _gain_rows(score: ProbeScore, baseline: FloatArray) -> Iterator[Metric]:
    """Yield rows of the gain over naming the commonest ingredients, and of candidates that the model cannot
    spell.
    """
    where = ("condition", score.probe.condition.slug)
    n = len(score.probe.dishes)
    n_candidates = len(score.probe.candidates)
    if not score.templates or score.ap_reason:
        reason = next(iter(score.unscored.values()))
        yield unscored("map_gain", where, reason, n, 0.0)
        yield unscored("unspellable_candidates", where, reason, n_candidates)
        return
    yield mean_row("map_gain", where, dish_means(score.ap) - baseline, "", bounds=CORRELATION, null=0.0)
    yield scored("unspellable_candidates", where, score.n_unspellable, (n_candidates, 0))


def _pooling_rows(score: ProbeScore, baseline: FloatArray) -> Iterator[Metric]:
    """Yield mAP and its gain under every pooling of the same scores."""
    null = float(score.expected.ap.mean())
    if not score.templates or score.ap_reason:
        reason = next(iter(score.unscored.values()))
        for name in POOLINGS:
            where = ("condition_pooling", f"{score.probe.condition.slug}:{name}")
            yield unscored("map", where, reason, len(baseline), null)
            yield unscored("map_gain", where, reason, len(baseline), 0.0)
    for pooling, table in score.ap_by_pooling.items():
        where = ("condition_pooling", f"{score.probe.condition.slug}:{pooling}")
        ap = dish_means(table)
        yield mean_row("map", where, ap, "", bounds=SHARE, null=null)
        yield mean_row("map_gain", where, ap - baseline, "", bounds=CORRELATION, null=0.0)


def _country_rows(scores: Sequence[ProbeScore]) -> Iterator[Metric]:
    """Yield rows of the gain from naming the country: mean difference over dishes, and Wilcoxon's p,
    Holm-adjusted over origins.
    """
    plain = {s.probe.condition: s for s in scores}
    for with_country in (s for s in scores if s.probe.condition.mentions_country):
        without = plain.get(with_country.probe.condition._replace(mentions_country=False))
        if without is None:
            continue
        slug = with_country.probe.condition.slug
        everything = np.arange(len(with_country.probe.dishes))
        groups: dict[Slice, np.typing.NDArray[np.intp]] = {("condition", slug): everything}
        origins = by_origin(with_country)
        groups |= {("condition_origin", f"{slug}:{o}"): members for o, members in origins.items()}
        if not with_country.templates or not without.templates:
            reason = "one of the two conditions has no answers"
            for where, members in groups.items():
                yield unscored("country_gain", where, reason, len(members), 0.0)
                yield unscored("country_gain_p", where, reason, len(members))
            continue
        a, b = dish_means(with_country.ap), dish_means(without.ap)
        tests = {where: comparison.paired_test(a[m], b[m]) for where, m in groups.items()}
        for where, members in groups.items():
            yield mean_row("country_gain", where, a[members] - b[members], "", bounds=CORRELATION, null=0.0)
        yield from _p_rows(tests)


def _p_rows(tests: Mapping[Slice, comparison.PairedTest]) -> Iterator[Metric]:
    """Yield p-values: the condition's own unadjusted, those of its origins adjusted together."""
    families = ([w for w in tests if w[0] == kind] for kind in ("condition", "condition_origin"))
    for family in families:
        own = [tests[where] for where in family]
        floors = [comparison.least_signed_rank_p(test.n) for test in own]
        outcomes = comparison.holm_or_reason(
            [test.p_value for test in own], floors, [f"{test.n} dishes" for test in own]
        )
        for where, test, (p, reason) in zip(family, own, outcomes, strict=True):
            if p is None:
                few = reason or f"{test.n} dishes are too few for a test"
                yield unscored("country_gain_p", where, few, test.n)
            else:
                yield scored("country_gain_p", where, p, (test.n, 0))


def _overall_rows(study: FmlamaStudy, scores: Sequence[ProbeScore], baselines: Baselines) -> Iterator[Metric]:
    """Yield means over all conditions; a dish in several conditions is one observation."""
    reasons = {"map": "", "mws": "", "map_gain": ""}
    pooled: dict[str, dict[str, list[float]]] = {metric: {} for metric in reasons}
    nulls: dict[str, dict[str, list[float]]] = {metric: {} for metric in reasons}
    for score in scores:
        slug, expected = score.probe.condition.slug, score.expected
        for reason in score.unscored.values():
            reasons = {metric: text or reason for metric, text in reasons.items()}
        reasons["mws"] = reasons["mws"] or score.ws_reason or ""
        ap = dish_means(score.ap)
        values = {"map": ap, "mws": dish_means(score.ws), "map_gain": ap - baselines[slug]}
        chance = {"map": expected.ap, "mws": expected.ws, "map_gain": np.zeros(len(ap))}
        for metric in reasons:
            _collect(pooled[metric], score, values[metric])
            _collect(nulls[metric], score, chance[metric])
    n_dishes = len({dish.url for score in scores for dish in score.probe.dishes})
    for metric, of_dish in pooled.items():
        null = np.array([np.mean(v) for v in nulls[metric].values()])
        null_value = float(null.mean()) if null.size else None
        if not of_dish:
            yield unscored(metric, OVERALL, reasons[metric] or NO_VECTOR, n_dishes, null_value)
            continue
        means = np.array([np.mean(v) for v in of_dish.values()])
        counts = (len(means), n_dishes - len(means))
        interval = mean_interval(means, bounds=SHARE if metric == "map" else CORRELATION)
        points = item_points(list(of_dish), means)
        yield scored(metric, OVERALL, means.mean(), counts, interval, null_value, points)
    yield _spread_row(study, scores, pooled["map"], reasons["map"])


def _spread_row(
    study: FmlamaStudy, scores: Sequence[ProbeScore], of_dish: Mapping[str, Sequence[float]], reason: str
) -> Metric:
    """Return the coefficient of variation over origins of what ``map`` averages; its interval leaves dishes
    out.
    """
    origin_of = {dish.url: dish.group for score in scores for dish in score.probe.dishes}
    urls = sorted(origin_of)
    ap = np.array([np.mean(of_dish[url]) if url in of_dish else np.nan for url in urls])
    origins, code = np.unique([origin_of[url] for url in urls], return_inverse=True)
    groups = jackknife_groups(len(urls), study.params.seed)
    members = np.array([np.isin(np.arange(len(urls)), group) for group in [np.arange(len(urls)), *groups]])
    means = origin_means(ap, members, (code[:, None] == np.arange(len(origins))).astype(np.float64))
    values, *rest = [row[~np.isnan(row)] for row in means]
    estimate = comparison.coefficient_of_variation(values) if values.size >= MIN_ORIGINS else None
    if estimate is None:
        reason = reason or f"{values.size} origins have a score, {MIN_ORIGINS} are needed, and one above 0"
        return unscored("map_cv", OVERALL, reason, len(origins))
    left_out = [comparison.coefficient_of_variation(each) for each in rest]
    interval = jackknife_interval(estimate, left_out, POSITIVE, is_biased=True)
    points = None
    if len(urls) >= DISHES_TO_COMPARE * len(origins):
        points = resampled_points("left_out", urls, groups, left_out)
    counts = (values.size, len(origins) - values.size)
    return scored("map_cv", OVERALL, estimate, counts, interval, points=points)


def _collect(into: dict[str, list[float]], score: ProbeScore, values: FloatArray) -> None:
    for dish, value in zip(score.probe.dishes, values, strict=True):
        if not np.isnan(value):
            into.setdefault(dish.url, []).append(float(value))


Members = NDArray[np.intp]

NO_ERROR = "no false prediction was made"
ALONE = "every dish with errors is the only one of its origin"
NO_VECTOR = "no dish has an ingredient and a prediction with a word vector"
MIN_ORIGINS = 3
ONE_TEMPLATE = "a spread over templates needs two of them"


def group_rows(score: ProbeScore, where: Slice, members: Members) -> Iterator[Metric]:
    """Yield mAP, mWS and errors of some dishes; ``members`` are their rows."""
    n = len(members) * score.n_wordings
    expected = score.expected
    nulls = {"map": mean_of(expected.ap[members]), "mws": mean_of(expected.ws[members])}
    if not score.templates:
        reason = next(iter(score.unscored.values()))
        for metric in ("map", "map_sd", "mws", "mws_sd"):
            yield unscored(metric, where, reason, n, nulls.get(metric))
        yield unscored("error_foreign", where, reason, len(members), mean_of(expected.foreign[members]))
        yield unscored("error_inconsistency", where, reason, len(members))
        return
    ap, ws = score.ap[:, members], score.ws[:, members]
    for metric, table, why in (("map", ap, score.ap_reason), ("mws", ws, score.ws_reason)):
        if why or np.isnan(table).all():
            reason = why or score.why_none(members) or NO_VECTOR
            yield unscored(metric, where, reason, n, nulls[metric])
            yield unscored(f"{metric}_sd", where, reason, n)
        else:
            yield from _mean_rows(metric, where, table, nulls[metric], n)
    yield from _error_rows(score, where, members)


def dish_means(table: FloatArray) -> FloatArray:
    """Return the [dishes] mean over the scored templates of [t, dishes], NaN if none is scored."""
    known = ~np.isnan(table)
    total, count = np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0)
    means: FloatArray = np.divide(total, count, out=np.full(table.shape[1], np.nan), where=count > 0)
    return means


def _mean_rows(metric: str, where: Slice, table: FloatArray, null: float | None, n: int) -> Iterator[Metric]:
    """Yield the mean over dishes with its interval, and the standard deviation (ddof 1) over templates'
    means.
    """
    means = dish_means(table)
    n_scored = int(np.count_nonzero(~np.isnan(table)))
    counts = (n_scored, n - n_scored)
    interval = known_interval(means, bounds=SHARE if metric == "map" else CORRELATION)
    yield scored(metric, where, float(np.nanmean(means)), counts, interval, null)
    of_template = [float(np.nanmean(row)) for row in table if not np.isnan(row).all()]
    if len(of_template) < 2:
        yield unscored(f"{metric}_sd", where, ONE_TEMPLATE, n)
    else:
        yield scored(f"{metric}_sd", where, float(np.std(of_template, ddof=1)), counts)


def _error_rows(score: ProbeScore, where: Slice, members: Members) -> Iterator[Metric]:
    """Yield shares of foreign ingredients among false predictions, and how much errors change with the
    wording.
    """
    predicted, relevant = score.predicted(members), score.probe.relevant[members]
    confusions = false_predictions.confusions(predicted, relevant, score.expected.local[members])
    wrong = confusions.n_coarse + confusions.n_fine
    foreign = score.expected.foreign[members]
    share = np.where((wrong > 0) & ~np.isnan(foreign), confusions.n_coarse / np.maximum(wrong, 1), np.nan)
    reason = score.why_none(members) or (ALONE if wrong.any() else NO_ERROR)
    yield mean_row("error_foreign", where, share, reason, bounds=SHARE, null=mean_of(foreign))
    inconsistency = np.full(len(members), np.nan)
    values, has = false_predictions.inconsistency(predicted, relevant)
    inconsistency[has] = values
    reason = "no dish has errors under two templates"
    yield mean_row("error_inconsistency", where, inconsistency, reason, bounds=SHARE)


MIN_DISHES_OF_ORIGIN = 100
"""Least mean number of dishes per origin for the interval of a correlation over origins (docs/intervals.md).
"""

DISHES_TO_COMPARE = 10
"""Least mean number of dishes per origin to compare two runs' spreads over origins (docs/intervals.md)."""


def spread_rows(score: ProbeScore, seed: int) -> Iterator[Metric]:
    """Yield the coefficient of variation of mAP over origins, and correlations of origins' mAP, mWS and dish
    counts. Observations are origins (table 1's CV and Pearson correlation of mAP with mWS; table 2's
    correlation with dish counts). Intervals leave dishes out.
    """
    where = ("condition", score.probe.condition.slug)
    origins, code = np.unique(score.probe.origins, return_inverse=True)
    n = len(origins)
    metrics: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float | None]] = {
        "map_cv": lambda ap, ws, count: comparison.coefficient_of_variation(ap),
        "map_mws_correlation": lambda ap, ws, count: _correlation(ap, ws),
        "map_count_correlation": lambda ap, ws, count: _correlation(ap, count),
        "mws_count_correlation": lambda ap, ws, count: _correlation(ws, count),
    }
    nulls = {"map_cv": None}
    if n < MIN_ORIGINS or not score.templates:
        reason = next(iter(score.unscored.values()), f"{n} origins, {MIN_ORIGINS} are needed")
        for metric in metrics:
            yield unscored(metric, where, reason, n, nulls.get(metric, 0.0))
        return
    dishes = np.arange(len(code))
    kept_dishes = np.array([np.isin(dishes, group) for group in [dishes, *jackknife_groups(len(code), seed)]])
    member = (code[:, None] == np.arange(n)).astype(np.float64)
    ap, ws = (origin_means(dish_means(table), kept_dishes, member) for table in (score.ap, score.ws))
    counts = member.sum(axis=0)
    for metric, compute in metrics.items():
        measured = [_present(a, w, counts, metric) for a, w in zip(ap, ws, strict=True)]
        estimate, *left_out = [compute(*arrays) for arrays in measured]
        used = len(measured[0][0])
        if estimate is None:
            few = f"{used} origins have a score, {MIN_ORIGINS} are needed" if used < MIN_ORIGINS else None
            reason = (score.ws_reason if "mws" in metric else None) or few or "the origins do not vary"
            reason = score.ap_reason if score.ap_reason and "map" in metric else reason
            yield unscored(metric, where, reason, n, nulls.get(metric, 0.0))
        else:
            is_cv = metric == "map_cv"
            # The mean of few dishes is noisy. The noise inflates the spread over origins and weakens
            # correlations, so that the interval of a correlation would lie too low.
            ci = jackknife_interval(estimate, left_out, POSITIVE if is_cv else CORRELATION, is_biased=True)
            ci = ci if is_cv or len(code) >= MIN_DISHES_OF_ORIGIN * n else None
            yield scored(metric, where, estimate, (used, n - used), ci, nulls.get(metric, 0.0))


def origin_means(values: FloatArray, members: NDArray[np.bool_], member: FloatArray) -> FloatArray:
    """Return the [1 + g, origins] mean over each origin's kept dishes, NaN if none is scored."""
    known = ~np.isnan(values)
    total = (members * np.where(known, values, 0.0)) @ member
    count = (members * known) @ member
    means: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def _present(
    ap: FloatArray, ws: FloatArray, counts: FloatArray, metric: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the origins with a value of everything that the metric needs."""
    measured = np.ones(len(counts), dtype=np.bool_)
    for name, values in (("map", ap), ("mws", ws)):
        measured &= ~np.isnan(values) if name in metric else True
    return ap[measured], ws[measured], counts[measured]


def _correlation(x: FloatArray, y: FloatArray) -> float | None:
    return pearson(x, y) if len(x) >= MIN_ORIGINS else None


MAYBE = "Maybe"
NO_VERDICT = "the judge gave no verdict that could be read"
NO_GOLD = "no prediction that the judge saw is a reference ingredient"


def dish_score(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """Return S = (1/l) * sum of M(p) over the top-l predictions p (equation 9), and the share of Maybe.

    M is 1 for Correct, else 0. A prediction without a verdict is left out of the sum and of l. Both in [0,
    1], together at most 1; NaN where no prediction has a verdict.
    """
    values = [v.value for v in verdicts if v.value is not None]
    maybes = [v.verdict == MAYBE for v in verdicts if v.value is not None]
    return (fmean(values), fmean(maybes)) if values else (math.nan, math.nan)


def mes_rows(
    study: FmlamaStudy, marks: Sequence[Marks] | str, null: Sequence[Marks] | str | None
) -> Iterator[Metric]:
    """Yield MES (equation 10: every dish counts the same) of all judged dishes and of each origin's, the
    share of Maybe, and the check of the judge. MES of all dishes is also the overall row, as one condition is
    judged.

    Args:
        marks: the marks of every judged dish, or why the model has no predictions to judge.
        null: the marks of the baseline that the model is compared with; None for that baseline itself.
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


def _check_row(study: FmlamaStudy, marks: Sequence[Marks] | str, where: Slice) -> Metric:
    """Return the share of predictions in the reference, which are right by definition, that the judge marks
    Correct. The null is the share of Correct among all its marks, which a judge that ignores the reference
    would reach. Observations are predictions; one completion marks all predictions of a dish, so the interval
    is over dishes.
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
    """Return [2, dishes] S and the share of Maybe of an origin's dishes; NaN for all n dishes
    without marks.
    """
    chosen = [] if marks is None or isinstance(marks, str) else marks
    of_dish = [dish_score(each.verdicts) for each in chosen if origin in (None, each.dish.origin)]
    return np.array(of_dish or [(math.nan, math.nan)] * n).T


def _why(marks: Sequence[Marks], origin: str | None) -> str:
    """Return why no dish has a score."""
    is_answered = any(each.is_answered for each in marks if origin in (None, each.dish.origin))
    return NO_VERDICT if is_answered else UNANSWERED
