"""From the scores of one model to its rows of ``metric_value``. Pure.

Slices: ("condition", "en:zh:no") is main language, subject language and whether the country is named;
("condition_origin", "en:zh:no:Italy") adds the origin, ("condition_template", "en:zh:no:fmlama-en-1") the
wording, ("condition_pooling", "en:zh:no:sum_logprob") how a candidate's score is pooled.
Every row that a scored condition would have is made for an unscored one too, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tasks.evaluations.fmlama.groups import (
    DISHES_TO_COMPARE,
    MIN_ORIGINS,
    NO_VECTOR,
    dish_means,
    group_rows,
    origin_means,
    spread_rows,
)
from tasks.evaluations.fmlama.params import POOLINGS
from tasks.evaluations.fmlama.requests import Study
from tasks.evaluations.fmlama.scores import FloatArray, ProbeScore
from tasks.loop.rows import OVERALL, Metric, Slice, item_points, mean_row, resampled_points, scored, unscored
from tasks.metrics import comparison
from tasks.metrics.intervals import (
    CORRELATION,
    POSITIVE,
    SHARE,
    jackknife_groups,
    jackknife_interval,
    mean_interval,
)

Baselines = Mapping[str, FloatArray]
"""condition slug -> [dishes] average precision of the better baseline"""


def model_rows(study: Study, scores: Sequence[ProbeScore], baselines: Baselines) -> list[Metric]:
    """All metric rows of one model."""
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
    """The rows of each origin's dishes, origins in code-point order."""
    origins = score.probe.origins
    return {str(origin): np.flatnonzero(origins == origin) for origin in np.unique(origins)}


def best_baseline(candidates: Sequence[Sequence[ProbeScore]]) -> dict[str, FloatArray]:
    """Of chance and several baselines' scores, each condition's best by mAP: [dishes] average precision."""
    best: dict[str, FloatArray] = {}
    for scores in zip(*candidates, strict=True):
        tables = [scores[0].expected.ap, *(dish_means(s.ap) for s in scores)]
        best[scores[0].probe.condition.slug] = max(tables, key=lambda table: float(table.mean()))
    return best


def _template_rows(score: ProbeScore) -> Iterator[Metric]:
    """mAP of every wording."""
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
    """How much better than naming the most common ingredients, and what the model cannot spell."""
    where = ("condition", score.probe.condition.slug)
    n = len(score.probe.dishes)
    n_candidates = len(score.probe.candidates)
    if not score.templates:
        reason = next(iter(score.unscored.values()))
        yield unscored("map_gain", where, reason, n, 0.0)
        yield unscored("unspellable_candidates", where, reason, n_candidates)
        return
    yield mean_row("map_gain", where, dish_means(score.ap) - baseline, "", bounds=CORRELATION, null=0.0)
    yield scored("unspellable_candidates", where, score.n_unspellable, (n_candidates, 0))


def _pooling_rows(score: ProbeScore, baseline: FloatArray) -> Iterator[Metric]:
    """mAP and its gain under every pooling of the same scores."""
    null = float(score.expected.ap.mean())
    if not score.templates:
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
    """What naming the country adds, dish by dish: mean difference and Wilcoxon's p, per origin by Holm."""
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
    """p-values: the condition's own as it is, those of its origins adjusted together."""
    raw = {w: t.p_value for w, t in tests.items() if w[0] == "condition_origin" and t.p_value is not None}
    adjusted = dict(zip(raw, comparison.holm(list(raw.values())), strict=True))
    for where, test in tests.items():
        p = adjusted.get(where, test.p_value)
        if p is None:
            yield unscored("country_gain_p", where, f"{test.n} dishes are too few for a test", test.n)
        else:
            yield scored("country_gain_p", where, p, (test.n, 0))


def _overall_rows(study: Study, scores: Sequence[ProbeScore], baselines: Baselines) -> Iterator[Metric]:
    """Means over all conditions; a dish that stands in several is one point."""
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
    study: Study, scores: Sequence[ProbeScore], of_dish: Mapping[str, Sequence[float]], reason: str
) -> Metric:
    """Coefficient of variation over origins of what ``map`` averages; its interval leaves dishes out."""
    origin_of = {dish.url: dish.group for score in scores for dish in score.probe.dishes}
    urls = sorted(origin_of)
    ap = np.array([np.mean(of_dish[url]) if url in of_dish else np.nan for url in urls])
    origins, code = np.unique([origin_of[url] for url in urls], return_inverse=True)
    groups = jackknife_groups(len(urls), study.params.seed)
    kept = np.array([np.isin(np.arange(len(urls)), group) for group in [np.arange(len(urls)), *groups]])
    means = origin_means(ap, kept, (code[:, None] == np.arange(len(origins))).astype(np.float64))
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
