"""Judges' means rectified by people's ratings, computed when they are read. No model runs.

Ratings arrive after a run is finished and its rows never change. So nothing is stored: a number is a function
of the run's verdicts and of all ratings so far, whose hash it carries (``tasks.judging.rectify``,
``tasks.metrics.ppi``). Our readers compute the rows of a query that names the view ``rectified``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from deployments.people.draw import page_of
from deployments.show import judged
from deployments.show.judged import STRATUM, Chosen, stratum_name
from tasks.evaluations.explication.read import FAILURES, MEANS, PENALISED
from tasks.evaluations.explication.rows import NULLS as EXPLICATION_NULLS
from tasks.evaluations.explication.study import SILENT
from tasks.evaluations.recipe.definition import BEST
from tasks.judging.audit import Menus, Rating, population_of
from tasks.judging.controls import ACCEPTED_FROM, EMPTY
from tasks.judging.rectify import JudgedPart, Label, Labels, judged_sample, labels_of
from tasks.judging.rubric import normal
from tasks.metrics.ppi import (
    JudgedSample,
    RectifiedMean,
    is_beyond,
    rectified_mean,
)
from warehouse import Warehouse, read_points

SUFFIX, VARIABLE = "_rectified", "rectified_means"
"""End of the names of rectified means; variable that the view ``rectified`` reads."""
RATED = """
SELECT h.code, h.condition AS dimension, h.annotator, h.field, h.value, h.study, h.stratum, i.chance,
    i.population
FROM human_rating AS h JOIN study_item AS i USING (study, item)
WHERE h.kind = 'judge-ratings' AND h.code IS NOT NULL ORDER BY ALL
"""
_JUDGED = """
SELECT DISTINCT r.evaluation, r.config_hash
FROM verdict AS v JOIN latest_run AS r USING (run_id) JOIN run_base AS saved USING (run_id)
WHERE NOT r.is_null AND list_contains($models, saved.model) ORDER BY ALL
"""
_MODELS = "SELECT DISTINCT model FROM human_rating WHERE kind = 'judge-ratings' AND model IS NOT NULL"
_METRICS = """
SELECT m.metric, m.label, m.range_low AS low, m.range_high AS high, m.direction = 'lower' AS is_lower,
    m.null_baseline, v.run_id, v.value
FROM metric AS m JOIN metric_value AS v ON v.metric = m.metric AND v.slice_kind = 'overall'
WHERE m.evaluation = $evaluation AND m.is_headline AND list_contains($runs, v.run_id) AND v.value IS NOT NULL
ORDER BY m.rowid, v.run_id
"""
_ACCEPTS = frozenset({"culturall"})
"""Evaluations that count an answer as right or wrong, from a mean rating of 0.5 on."""
_NULLS = {("fmlama", "mes"): {"common-of-origin"}} | {
    ("explication", metric): {EMPTY if source == SILENT else source for source in sources}
    for metric, sources in EXPLICATION_NULLS.items()
}
"""Evaluation and metric -> the null texts that it is compared with; others: all, or the one in a recipe."""


class Rectified(NamedTuple):
    """A judge's mean and the rectified one: a row of the view ``rectified``.

    Attributes:
        source: "" for the model's answers, else the null texts. gap: the judge's mean less the rectified one.
        null_value: the best rectified null; None unless all nulls have one. is_beyond_null: by the intervals
            of both. n_judged: number of judged answers. weight: of the judge. ratings: a hash.
    """

    evaluation: str
    config_hash: str
    run_id: str
    model: str
    metric: str
    source: str
    label: str
    raw_value: float
    n_judged: int
    ratings: str
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    gap: float | None = None
    null_value: float | None = None
    is_beyond_null: bool | None = None
    n_labels: int = 0
    weight: float = 0.0
    correlation: float | None = None
    pooled: str | None = None
    unscored_reason: str | None = None


class Estimate(NamedTuple):
    """A row with what differences and plans need: the mean, its units' names and its sample.

    spread: least variance of people's ratings to plan with: of yes and no, where their menu has no more.
    """

    row: Rectified
    mean: RectifiedMean | None = None
    units: tuple[str, ...] = ()
    sample: JudgedSample | None = None
    spread: float = 0.0


Failed = Mapping[tuple[str, str], Sequence[str]]
"""Item and dimension -> the judges who say that a grade of it may not be above ``PENALISED``."""


class _Metric(NamedTuple):
    """A judged headline of a run, and how ratings in [0, 1] become its scale.

    nulls: sources of the null texts that it is compared with, or a number; None: all sources.
    is_yes_no: whether ratings have two values.
    """

    metric: str
    label: str
    value: float
    bounds: tuple[float, float]
    is_lower: bool
    scale: Callable[[float], float]
    nulls: Collection[str] | float | None
    is_yes_no: bool = False

    @property
    def sign(self) -> int:
        return -1 if self.is_lower else 1


def rectified(warehouse: Warehouse, of: Collection[str] | None = None) -> list[Estimate]:
    """Return the rectified means of the newest runs whose answers people rated, nulls included.

    of: config_hashes; None: all. Without ratings of a configuration there are none.
    """
    rated = warehouse.query(RATED)
    if rated.is_empty():
        return []
    models = warehouse.query(_MODELS)["model"].to_list()
    configs = warehouse.query(_JUDGED, {"models": models}).rows()
    chosen = [Chosen(*each) for each in configs if of is None or each[1] in of]
    return [estimate for each in chosen for estimate in of_config(warehouse, each, rated)]


def variables(estimates: Sequence[Estimate]) -> dict[str, list[str]]:
    """Return the variables with which a query finds these rows in the view ``rectified``."""
    return {VARIABLE: [json.dumps(estimate.row._asdict()) for estimate in estimates]} if estimates else {}


def of_config(
    warehouse: Warehouse, chosen: Chosen, rated: pl.DataFrame, with_unrated: bool = False
) -> Iterator[Estimate]:
    """Yield the estimates of one configuration. with_unrated: also if nobody rated anything of it."""
    verdicts, answers = judged.verdicts(warehouse, chosen, nulls=True)
    known = rated.filter(pl.col("code").is_in(verdicts["code"].unique().to_list()))
    if known.is_empty() and not with_unrated:
        return
    menus = judged.menus(chosen.evaluation, verdicts)
    labels, unread = _labels(known, menus)
    groups = judged.strata(verdicts, answers)
    populations = {name: population_of(answer.code for answer in own) for name, own in groups.items()}
    of_nulls = pl.col("is_null")
    runs = verdicts.filter(~of_nulls)["run_id"].unique(maintain_order=True).to_list()
    metrics: dict[str, list[_Metric]] = {run: [] for run in runs}
    found = warehouse.query(_METRICS, {"evaluation": chosen.evaluation, "runs": runs}).to_dicts()
    for row in found:
        metrics[row["run_id"]].append(_metric(chosen.evaluation, row))
    points = read_points(warehouse, {run: [one.metric for one in own] for run, own in metrics.items()})
    for run, own in metrics.items():
        of_run = verdicts.filter((pl.col("run_id") == run) | of_nulls)
        failed = _failed(of_run) if chosen.evaluation == "explication" else {}
        for metric in own:
            parts = _dimensions(chosen.evaluation, metric.metric, of_run, [one.metric for one in own])
            if parts.filter(run_id=run).is_empty():
                continue  # no judge decides it
            names = parts["dimension"].unique().to_list()
            reason = next((unread[name] for name in names if name in unread), "")
            values = [set(menus.get(normal(name), {}).values()) for name in names]
            metric = metric._replace(is_yes_no=all(len(own_values) <= 2 for own_values in values))
            yield from _of_metric(
                chosen, run, metric, parts, points[run], labels, populations, failed, reason
            )


def _metric(evaluation: str, row: Mapping[str, Any]) -> _Metric:
    low, high = row["low"], row["high"]

    def scale(rating: float) -> float:
        share = float(rating >= ACCEPTED_FROM) if evaluation in _ACCEPTS else rating
        return float(low + (high - low) * share)

    nulls = _NULLS.get((evaluation, row["metric"]), _null_of_recipe(row["null_baseline"]))
    return _Metric(row["metric"], row["label"], row["value"], (low, high), row["is_lower"], scale, nulls)


def _null_of_recipe(baseline: str) -> Collection[str] | float | None:
    """Return the number or the only null model that a recipe names; None if it names none of both."""
    try:
        return float(baseline)
    except ValueError:
        is_name = baseline != BEST and baseline.isidentifier()
        return [baseline.replace("_", "-")] if is_name else None


def _dimensions(
    evaluation: str, metric: str, verdicts: pl.DataFrame, headlines: Sequence[str]
) -> pl.DataFrame:
    """Return the verdicts that a headline is the mean of: those of its dimensions, or of the only rubric."""
    named = MEANS.get(metric, (metric,)) if evaluation == "explication" else (metric,)
    own = verdicts.filter(pl.col("dimension").is_in(named))
    is_only = verdicts["dimension"].n_unique() == 1 and verdicts["dimension"][0] not in headlines
    return verdicts if own.is_empty() and is_only and metric in (headlines[0], "mes") else own


def _of_metric(
    chosen: Chosen, run: str, metric: _Metric, verdicts: pl.DataFrame, points: pl.DataFrame, labels: Labels,
    populations: Mapping[str, str], failed: Failed, reason: str,
) -> Iterator[Estimate]:  # fmt: skip
    """Yield the estimates of a run's headline: of the model, then of each null.

    reason: why there is no number; "" if there is one.
    """
    stored = points.filter((pl.col("metric") == metric.metric) & (pl.col("design") == "item"))
    units = {unit: (value, cluster) for unit, value, cluster in _rows(stored, "unit", "value", "cluster")}
    worst = metric.bounds[1] if metric.is_lower else metric.bounds[0]
    own: list[Estimate] = []
    shown = verdicts.filter(run_id=run)["shown"][0]
    named = (chosen.evaluation, chosen.config, run, shown, metric.metric + SUFFIX)
    texts = verdicts.filter((pl.col("source") == "") | pl.col("is_null_text"))
    try:
        if reason:
            raise ValueError(reason)
        unit_of = _units(chosen.evaluation, texts.filter(source="")["item"].to_list(), units)
    except ValueError as error:
        yield Estimate(_row((*named, ""), metric, metric.value, None, texts.height, str(error), labels.hash))
        return
    for source in sorted(texts["source"].unique().to_list()):
        of_texts = texts.filter(source=source)
        parts = list(_parts(of_texts, unit_of, metric.scale, failed if not source else {}))
        of_source = units if not source else _of_null(parts, units)
        if source and not parts:
            continue  # no judge could read them
        about = (*named, source)
        raw = metric.value if not source else fmean(value for value, _ in of_source.values())
        try:
            sample = judged_sample(parts, of_source, labels, populations, worst)
        except ValueError as error:
            own.append(Estimate(_row(about, metric, raw, None, len(parts), str(error), labels.hash)))
            continue
        mean = rectified_mean(sample, metric.bounds)
        row = _row(about, metric, raw, mean, len(parts), "", labels.hash)
        own.append(Estimate(row, mean, tuple(sorted(of_source)), sample, _spread(sample, metric)))
    nulls = {estimate.row.source: estimate for estimate in own if estimate.row.source}
    for estimate in own:
        yield estimate if estimate.row.source else _against(estimate, nulls, metric)


def _spread(sample: JudgedSample, metric: _Metric) -> float:
    """Return the least variance of ratings to plan with: of yes and no with the scores' mean, or of half and
    half where all scores are alike.
    """
    low, high = metric.bounds
    if not sample.scores.size or sample.scores.min() == sample.scores.max():
        return (high - low) ** 2 / 4
    mean = float(sample.scores.mean())
    return (mean - low) * (high - mean) if metric.is_yes_no else 0.0


def _against(estimate: Estimate, nulls: Mapping[str, Estimate], metric: _Metric) -> Estimate:
    """Return a model's estimate with its null, and whether it is beyond each of the null texts."""
    row, sign = estimate.row, metric.sign
    if isinstance(metric.nulls, float):
        near = row.ci_low if sign > 0 else row.ci_high
        is_above = None if near is None else sign * (near - metric.nulls) > 0
        return estimate._replace(row=row._replace(null_value=metric.nulls, is_beyond_null=is_above))
    of = [nulls.get(source) for source in (nulls if metric.nulls is None else metric.nulls)]
    known = [null for null in of if null is not None and null.row.value is not None]
    if not known or len(known) < len(of):
        return estimate
    answers = [
        is_beyond(estimate.mean, null.mean, null.sample, metric.bounds, sign)
        for null in known
        if estimate.mean is not None and null.mean is not None and null.sample is not None
    ]
    is_sure = False if False in answers else None if None in answers or not answers else True
    best = sign * max(sign * null.row.value for null in known if null.row.value is not None)
    return estimate._replace(row=row._replace(null_value=best, is_beyond_null=is_sure))


def _row(
    about: tuple[str, str, str, str, str, str], metric: _Metric, raw: float, mean: RectifiedMean | None,
    n_judged: int, reason: str, ratings: str,
) -> Rectified:  # fmt: skip
    own = Rectified(*about, metric.label, raw, n_judged, ratings)
    if mean is None or mean.value is None:
        return own._replace(unscored_reason=reason or (mean.reason if mean else ""))
    low, high = mean.interval or (None, None)
    value = min(max(mean.value, metric.bounds[0]), metric.bounds[1])
    return own._replace(
        value=value, ci_low=low, ci_high=high, gap=raw - value, n_labels=mean.n_labels, weight=mean.weight,
        correlation=mean.correlation, pooled=mean.pooled or None, unscored_reason=mean.reason or None,
    )  # fmt: skip


def _parts(
    verdicts: pl.DataFrame,
    unit_of: Callable[[str, str], str],
    scale: Callable[[float], float],
    failed: Failed,
) -> Iterator[JudgedPart]:  # fmt: skip
    """Yield the scored answers: the mean over judges of each one's mean over its samples.

    unit_of: returns the unit of an item and its group.
    """
    scored = verdicts.with_columns(score=pl.coalesce("graded", "value"))
    unknown = scored.filter(pl.col("score").is_null())["code"].unique()
    scored = scored.filter(~pl.col("code").is_in(unknown.to_list()))  # as the run's own means leave them out
    keys = [*STRATUM, "code", "item", "group_name"]
    by_judge = scored.group_by(*keys, "judge").agg(pl.col("score").mean()).sort(*keys, "judge").rows()
    for (model, dimension, source, language, code, item, group), own in groupby(
        by_judge, lambda row: row[:7]
    ):
        votes = [(score, judge in failed.get((item, dimension), ())) for *_, judge, score in own]
        share, own_scale = fmean(is_capped for _, is_capped in votes), scale
        score = scale(fmean(score for score, _ in votes))  # a threshold applies to the judges' mean
        if share:
            score = fmean(_capped(scale, float(is_capped), score) for score, is_capped in votes)
            own_scale = partial(_capped, scale, share)
        yield JudgedPart(
            code, unit_of(item, group), score, stratum_name((model, dimension, source, language)),
            language, own_scale,
        )  # fmt: skip


def _units(evaluation: str, items: Sequence[str], units: Collection[str]) -> Callable[[str, str], str]:
    """Return the function from an item and its group to the unit of a headline.

    The unit is the item, or its cluster where the headline is a mean over clusters. In a mean over several
    benchmarks of cure it is "benchmark:item", though verdicts name the item alone.

    Raises:
        ValueError: several benchmarks have an item of one name.
    """
    is_of_items = not units or any(item in units for item in items)
    if is_of_items or evaluation != "cure":
        return lambda item, group: item if is_of_items else group
    of_item = {unit.partition(":")[2]: unit for unit in units}
    if len(of_item) < len(units):
        raise ValueError("several benchmarks of this mean have items of one name: verdicts name these alone")
    return lambda item, _: of_item.get(item, item)


def _capped(scale: Callable[[float], float], share: float, rating: float) -> float:
    """Return a rating's grade as judges' verdicts on failures, which people do not give, limit the grade."""
    grade = scale(rating)
    return share * min(grade, PENALISED) + (1 - share) * grade


def _failed(verdicts: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return explication's failures, which limit the grade of a dimension."""
    own = verdicts.filter(pl.col("dimension").is_in(list(FAILURES)) & (pl.col("value") == 1))
    failed: dict[tuple[str, str], list[str]] = {}
    for item, dimension, judge in own.select("item", "dimension", "judge").rows():
        failed.setdefault((item, FAILURES[dimension]), []).append(judge)
    return failed


def _of_null(
    parts: Sequence[JudgedPart], units: Mapping[str, tuple[float, str]]
) -> dict[str, tuple[float, str]]:
    """Return null texts' units with their values, and the clusters of the model's own units."""
    values: dict[str, list[float]] = {}
    for part in parts:
        values.setdefault(part.unit, []).append(part.score)
    return {unit: (fmean(own), units.get(unit, (0.0, unit))[1]) for unit, own in values.items()}


def _labels(rated: pl.DataFrame, menus: Menus) -> tuple[Labels, dict[str, str]]:
    """Return people's ratings as values of the judge's menu, and why those of a dimension cannot be read."""
    labels, unread = [], {}
    for row in rated.iter_rows(named=True):
        dimension, word = row["dimension"], row["value"]
        if row["field"] not in ("rating", page_of(dimension)):
            continue  # an answer's other fields are no ratings
        cells = {"item": row["code"], "annotator": row["annotator"], "dimension": dimension, "rating": word}
        try:
            rating = Rating.model_validate(cells, context=menus).rating
        except ValueError:
            unread[dimension] = (
                f"people rated {dimension} with {word!r}, which is no verdict of the judge: the rubric has "
                "changed, so put it back as it was"
            )
            continue
        named = (row[name] for name in ("study", "stratum", "chance", "population"))
        labels.append(Label(row["code"], row["annotator"], rating, *named))
    return labels_of(labels), unread


def _rows(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return [row for row in frame.select(columns).rows() if row[1] is not None]
