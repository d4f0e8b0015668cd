"""Paired comparisons of headlines of two runs: which runs, their common points, differences. No model runs.

The two runs have the same configuration and differ in model, engine or occasion; or they have configurations
that differ only in wording, whose units have the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from flows.runs import FinishedRun
from tasks.metrics import comparison
from tasks.metrics.comparison import Difference
from warehouse import Warehouse, WarehouseError, read_points

_HEADLINES = """
SELECT v.run_id, v.metric, m.label, m.unit, v.value FROM metric_value AS v JOIN run AS r USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric AND m.is_headline
WHERE v.slice_kind = 'overall' AND list_contains($runs, v.run_id) ORDER BY r.evaluation, m.rowid
"""
ALONE = """
SELECT c.config_hash, any_value(r.engine_hash) FROM cohort AS c JOIN run AS r USING (run_id)
GROUP BY c.config_hash HAVING count(DISTINCT r.engine_hash) = 1
"""
"""Configurations whose cohort is a single model, with its engine."""
_SAME = """
WITH own AS (
    SELECT r.run_id, e.item, unnest((e.content->'same')::VARCHAR[]) AS same
    FROM run AS r
    JOIN evaluation_item AS e ON e.evaluation = r.evaluation AND e.item_hash = (r.item_lists->>'item')
    WHERE r.run_id IN ($first, $second) AND json_type(e.content->'same') = 'ARRAY'
), once AS (
    FROM own QUALIFY count(*) OVER (PARTITION BY run_id, same) = 1
), pair AS (
    SELECT DISTINCT one.item, two.item AS other
    FROM once AS one JOIN once AS two USING (same) WHERE one.run_id = $first AND two.run_id = $second
)
FROM pair QUALIFY count(*) OVER (PARTITION BY item) = 1 AND count(*) OVER (PARTITION BY other) = 1
"""
"""Items of two runs that have other names but the same content: other programs hash documents otherwise."""

UNSCORED = "a run has no value for it"
NO_POINTS = (
    "a run stored no points to compare: it has too few units, ended early (--until), or older code made it "
    "(run it again)"
)
NOTHING_COMMON = "the runs have no item in common"
ONE_COHORT = (
    "its classes come from the medians of one of the two models alone, which favours one: run both with "
    "--cohort NAME, which sends no new requests"
)
OTHER_RESAMPLES = "the runs have different units, so their resamples differ"

SCHEMA = pl.Schema(
    {
        "evaluation": pl.String(), "metric": pl.String(),
        "first_model": pl.String(), "second_model": pl.String(), "difference": pl.Float64(),
        "ci_low": pl.Float64(), "ci_high": pl.Float64(), "p_holm": pl.Float64(), "n_common": pl.Int64(),
        "unscored_reason": pl.String(), "detectable": pl.Float64(), "first_value": pl.Float64(),
        "second_value": pl.Float64(), "p_value": pl.Float64(), "label": pl.String(),
        "first_occasion": pl.String(), "first_config": pl.String(),
        "second_occasion": pl.String(), "second_config": pl.String(),
        "first_run": pl.String(), "second_run": pl.String(),
    }
)  # fmt: skip


Pair = tuple[FinishedRun, FinishedRun]


@dataclass(frozen=True)
class ComparedRuns:
    """Runs to compare, and how.

    Attributes:
        first, second: models; without a second the first is compared with itself on the occasion ``against``,
            by default the one before.
        occasion: of both models, or only of the first if ``against`` is that of the second.
        config, against_config: configurations of the two; default: the newest that both have.
    """

    first: str
    second: str | None = None
    evaluation: str | None = None
    occasion: str | None = None
    against: str | None = None
    config: str | None = None
    against_config: str | None = None

    def is_pair(self, one: FinishedRun, two: FinishedRun) -> bool:
        """Return whether two runs fit this comparison."""
        if one.run_id == two.run_id or one.evaluation != two.evaluation:
            return False
        if self.against_config:
            return True
        if one.config_hash != two.config_hash:
            return False
        if self.second not in (None, self.first):
            return True
        is_other = one.engine_hash == two.engine_hash and one.occasion != two.occasion
        return is_other and (self.against is not None or two.finished_at <= one.finished_at)


def chosen_pairs(runs: Sequence[FinishedRun], wanted: ComparedRuns) -> list[Pair]:
    """Return, for each evaluation, the newest two runs that can be compared. runs: newest first.

    Raises:
        WarehouseError: no run has that model, occasion or configuration, or no two runs fit.
    """
    runs = [run for run in runs if wanted.evaluation in (None, run.evaluation)]
    second = wanted.second or wanted.first
    against = wanted.against
    if against is None and (second != wanted.first or wanted.against_config):
        against = wanted.occasion
    firsts = _on(runs, wanted.first, wanted.occasion, wanted.config)
    seconds = _on(runs, second, against, wanted.against_config or wanted.config)
    pairs: dict[str, Pair] = {}
    for one in firsts:
        two = next((two for two in seconds if wanted.is_pair(one, two)), None)
        if two and one.evaluation not in pairs:
            pairs[one.evaluation] = one, two
    if not pairs:
        other = f"{second} on another occasion" if second == wanted.first else second
        raise WarehouseError(
            f"no configuration has finished runs of {wanted.first} and of {other}: run both with the same "
            "options, or name two configurations with --config and --against-config"
        )
    return [pairs[name] for name in sorted(pairs)]


def last_two_occasions(runs: Sequence[FinishedRun]) -> list[Pair]:
    """Return the newest run of each engine and configuration, with its newest run on another occasion."""
    pairs: dict[tuple[str, str, str], list[FinishedRun]] = {}
    for run in runs:
        pair = pairs.setdefault((run.evaluation, run.config_hash, run.engine_hash), [])
        if run.occasion not in {other.occasion for other in pair} and len(pair) < 2:
            pair.append(run)
    return [(pair[0], pair[1]) for pair in pairs.values() if len(pair) == 2]


def differences(warehouse: Warehouse, pairs: Sequence[Pair]) -> pl.DataFrame:
    """Return a row per pair and headline: first minus second, with Holm-adjusted p-values over all rows.

    Columns: SCHEMA. ``unscored_reason`` says why a difference, interval or p-value is missing.
    """
    names = {run.run_id: run for pair in pairs for run in pair}
    frame = warehouse.query(_HEADLINES, {"runs": list(names)})
    values: dict[str, dict[str, tuple[str, str, float | None]]] = {}
    for run, metric, *of_metric in frame.rows():
        values.setdefault(run, {})[metric] = tuple(of_metric)
    answers = read_points(warehouse, {name: list(values.get(name, ())) for name in names})
    points = {
        run: {str(metric): own for (metric,), own in rows.group_by("metric")} for run, rows in answers.items()
    }
    alone = dict(warehouse.query(ALONE).rows())
    rows = [row for pair in pairs for row in _rows(pair, values, _renamed(warehouse, pair, points), alone)]
    tested = [row for row in rows if row["p_value"] is not None]
    adjusted = comparison.holm([row["p_value"] for row in tested])
    for row, p_value in zip(tested, adjusted, strict=True):
        row["p_holm"] = float(p_value)
    return pl.DataFrame(rows, schema=SCHEMA)


def _renamed(warehouse: Warehouse, pair: Pair, points: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the points in which the second run's items have the first's names, if no name is common."""
    first, second = (points.get(run.run_id, {}) for run in pair)
    units = [{unit for own in each.values() for unit in own["unit"]} for each in (first, second)]
    if pair[0].config_hash == pair[1].config_hash or units[0] & units[1]:
        return points
    of_pair = {"first": pair[0].run_id, "second": pair[1].run_id}
    names = {other: item for item, other in warehouse.query(_SAME, of_pair).rows()}
    renamed = {metric: own.with_columns(pl.col("unit").replace(names)) for metric, own in second.items()}
    return {**points, pair[1].run_id: renamed} if names else points


def _on(
    runs: Sequence[FinishedRun], name: str, occasion: str | None, config: str | None
) -> list[FinishedRun]:
    """Return the runs of a model, on an occasion and under a configuration if given."""
    filters: list[tuple[str, str | None, Callable[[FinishedRun], bool], Callable[[FinishedRun], str]]] = [
        ("model", name, lambda run: run.is_named(name), lambda run: run.model),
        ("configuration", config, lambda run: run.config_hash == config, lambda run: run.config_hash),
        ("occasion", occasion, lambda run: run.occasion == occasion, lambda run: run.occasion or '""'),
    ]
    fitting = list(runs)
    for what, value, fits, label in filters:
        if value is None:
            continue
        before, fitting = fitting, [run for run in fitting if fits(run)]
        if not fitting:
            known = ", ".join(dict.fromkeys(map(label, before))) or "none: start with culturemeter run"
            model = "" if what == "model" else f" of {name}"
            raise WarehouseError(f"no finished run{model} has the {what} {value!r}; known: {known}")
    return fitting


def _rows(
    pair: Pair, values: Mapping[str, Any], points: Mapping[str, Any], alone: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a pair. alone: configuration -> the single engine of its cohort."""
    first, second = (values.get(run.run_id, {}) for run in pair)
    engines, configs = ({getattr(run, name) for run in pair} for name in ("engine_hash", "config_hash"))
    is_alone = len(engines) == 2 and len(configs) == 1 and alone.get(pair[0].config_hash) in engines
    for metric, (label, unit, value) in first.items():
        other = second.get(metric, ("", "", None))[2]
        outcome: tuple[int, Difference | None, str | None] = (0, None, UNSCORED)
        if value is not None and other is not None:
            one, two = (points[run.run_id].get(metric) for run in pair)
            outcome = difference_of((value, other), one, two, unit == "correlation", is_alone)
        n, difference, reason = outcome
        low, high = (difference and difference.interval) or (None, None)
        yield {
            "evaluation": pair[0].evaluation, "metric": metric, "label": label,
            **{
                f"{side}_{name}": cell
                for side, run in zip(("first", "second"), pair, strict=True)
                for name, cell in (
                    ("model", run.model), ("occasion", run.occasion), ("config", run.config_hash),
                    ("run", run.run_id),
                )
            },
            "first_value": value, "second_value": other, "ci_low": low, "ci_high": high,
            "difference": difference and difference.value, "p_value": difference and difference.p_value,
            "detectable": difference and difference.detectable, "p_holm": None, "n_common": n,
            "unscored_reason": reason,
        }  # fmt: skip


def difference_of(
    values: tuple[float, float],
    first: pl.DataFrame | None,
    second: pl.DataFrame | None,
    is_correlation: bool,
    is_alone: bool,
) -> tuple[int, Difference | None, str | None]:
    """Return the number of common items or clusters, the difference, and the reason if something is missing.

    values: the two headlines. is_alone: whether the cohort is a single one of the two models. Classes from
    its medians fit the two models differently, so equally good models would differ (docs/intervals.md).
    """
    value = values[0] - values[1]
    if first is None or second is None:
        return 0, None, NO_POINTS
    both = _common(first, second)
    if both.is_empty():
        return 0, None, NOTHING_COMMON
    design = first["design"][0]
    left, right = (both[name].to_numpy() for name in ("value", "value_second"))  # null is NaN
    if design == "item":
        result, n = comparison.mean_difference(left, right, both["cluster"].to_numpy()), both.height
    else:
        n = int(first["n_clusters"][0])
        if not both.height == first.height == second.height:
            return n, Difference(value, None, None, None), OTHER_RESAMPLES
        if is_alone and design == "half" and not is_correlation:
            return n, Difference(value, None, None, None), ONE_COHORT
        if design == "left_out":
            result = comparison.left_out_difference(value, left, right)
        else:
            result = comparison.half_sample_difference(values, left, right, n, is_correlation)
    if result.interval is None:
        reason = "nothing differs" if result.p_value == 1 else "too little varies for an interval"
        return n, result, reason
    return n, result, None


def _common(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return the first run's points of the units that both have, with the second's values.

    Runs on the same items need no join, which takes longer than the test: a board has a thousand pairs.
    """
    if first["unit"].equals(second["unit"]):
        return first.hstack([second["value"].alias("value_second")])
    return first.join(second, on="unit", how="inner", suffix="_second").sort("unit")
