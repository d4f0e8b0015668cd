"""Headlines of two runs compared in pairs: which runs, their common points, differences. Nothing is asked.

A run is compared with another of the same configuration: of another model or engine, or of another occasion;
or with one of a configuration that differs in wording only, which has units of the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from flows.runs import FinishedRun
from tasks.metrics import comparison
from tasks.metrics.comparison import Difference
from warehouse import Warehouse, WarehouseError, read_requests

KIND = "headline_value"
_HEADLINES = """
SELECT v.run_id, v.metric, m.label, m.unit, v.value FROM metric_value AS v JOIN run AS r USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric AND m.is_headline
WHERE v.slice_kind = 'overall' AND list_contains($runs, v.run_id) ORDER BY r.evaluation, m.rowid
"""
_ALONE = """
SELECT c.config_hash, any_value(r.engine_hash) FROM cohort AS c JOIN run AS r USING (run_id)
GROUP BY c.config_hash HAVING count(DISTINCT r.engine_hash) = 1
"""
"""Configurations whose cohort is one model alone, and its engine."""
_COLUMNS = ["metric", "design", "unit", "cluster", "value", "n_clusters"]

UNSCORED = "a run has no value of it"
NO_POINTS = "a run stored nothing to compare it by: it has too few units, or is of older code (run it again)"
NOTHING_COMMON = "the runs have no item in common"
ONE_COHORT = (
    "its classes are by medians of one of the two alone, which suit the two differently: run both with "
    "--cohort NAME, which asks nothing anew"
)
OTHER_RESAMPLES = "the runs have other units, so that their resamples are not the same"

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
        first, second: models; without a second the first is compared with itself on another occasion, the one
            before if ``against`` names none.
        occasion: of both models, or of the first if ``against`` names that of the second.
        config, against_config: of the two; by default they have the same, the newest that both have.
    """

    first: str
    second: str | None = None
    evaluation: str | None = None
    occasion: str | None = None
    against: str | None = None
    config: str | None = None
    against_config: str | None = None

    def is_pair(self, one: FinishedRun, two: FinishedRun) -> bool:
        """Whether the two can be compared as is wanted."""
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
        WarehouseError: no run is of such a model, occasion or configuration, or no two fit.
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
    """Return, for every engine and configuration, the newest run and the newest of another occasion."""
    pairs: dict[tuple[str, str, str], list[FinishedRun]] = {}
    for run in runs:
        of_engine = pairs.setdefault((run.evaluation, run.config_hash, run.engine_hash), [])
        if run.occasion not in {other.occasion for other in of_engine} and len(of_engine) < 2:
            of_engine.append(run)
    return [(both[0], both[1]) for both in pairs.values() if len(both) == 2]


def differences(warehouse: Warehouse, pairs: Sequence[Pair]) -> pl.DataFrame:
    """One row per pair and headline: first less second, adjusted for how many rows there are (Holm).

    Columns: SCHEMA. A row without a difference, interval or p-value says why, or why it needs none.
    """
    names = {run.run_id: run for pair in pairs for run in pair}
    frame = warehouse.query(_HEADLINES, {"runs": list(names)})
    values: dict[str, dict[str, tuple[str, str, float | None]]] = {}
    for run, metric, *of_metric in frame.rows():
        values.setdefault(run, {})[metric] = tuple(of_metric)
    answers = read_requests(warehouse, KIND, {name: list(values.get(name, ())) for name in names}, _COLUMNS)
    points = {run: {str(m): of for (m,), of in rows.group_by("metric")} for run, rows in answers.items()}
    alone = dict(warehouse.query(_ALONE).rows())
    rows = [row for pair in pairs for row in _rows(pair, values, points, alone)]
    tested = [row for row in rows if row["p_value"] is not None]
    adjusted = comparison.holm([row["p_value"] for row in tested])
    for row, p_value in zip(tested, adjusted, strict=True):
        row["p_holm"] = float(p_value)
    return pl.DataFrame(rows, schema=SCHEMA)


def _on(
    runs: Sequence[FinishedRun], name: str, occasion: str | None, config: str | None
) -> list[FinishedRun]:
    """The runs of a model on an occasion under a configuration, default: any."""
    sides: list[tuple[str, str | None, Callable[[FinishedRun], bool], Callable[[FinishedRun], str]]] = [
        ("model", name, lambda run: run.is_named(name), lambda run: run.model),
        ("configuration", config, lambda run: run.config_hash == config, lambda run: run.config_hash),
        ("occasion", occasion, lambda run: run.occasion == occasion, lambda run: run.occasion or '""'),
    ]
    fitting = list(runs)
    for what, wanted, fits, named in sides:
        if wanted is None:
            continue
        before, fitting = fitting, [run for run in fitting if fits(run)]
        if not fitting:
            there = ", ".join(dict.fromkeys(map(named, before))) or "none: start with culturescope run"
            of = "" if what == "model" else f" of {name}"
            raise WarehouseError(f"no finished run{of} has the {what} {wanted!r}; there are: {there}")
    return fitting


def _rows(
    pair: Pair, values: Mapping[str, Any], points: Mapping[str, Any], alone: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """alone: configuration -> the engine that its cohort is."""
    first, second = (values.get(run.run_id, {}) for run in pair)
    engines, configs = ({getattr(run, name) for run in pair} for name in ("engine_hash", "config_hash"))
    is_alone = len(engines) == 2 and len(configs) == 1 and alone.get(pair[0].config_hash) in engines
    for metric, (label, unit, value) in first.items():
        other = second.get(metric, ("", "", None))[2]
        outcome: tuple[int, Difference | None, str | None] = (0, None, UNSCORED)
        if value is not None and other is not None:
            one, two = (points[run.run_id].get(metric) for run in pair)
            outcome = _difference((value, other), one, two, unit == "correlation", is_alone)
        n, difference, reason = outcome
        low, high = (difference and difference.interval) or (None, None)
        yield {
            "evaluation": pair[0].evaluation, "metric": metric, "label": label,
            **{
                f"{which}_{name}": cell
                for which, run in zip(("first", "second"), pair, strict=True)
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


def _difference(
    values: tuple[float, float],
    first: pl.DataFrame | None,
    second: pl.DataFrame | None,
    is_correlation: bool,
    is_alone: bool,
) -> tuple[int, Difference | None, str | None]:
    """Common items or clusters, the difference, and why there is none or it has no interval.

    values: the two headlines. is_alone: the cohort is one of the two models alone. Classes by its medians
    suit it in another way than the other, so that equally good models differ (docs/intervals.md).
    """
    value = values[0] - values[1]
    if first is None or second is None:
        return 0, None, NO_POINTS
    both = first.join(second, on="unit", how="inner", suffix="_second").sort("unit")
    if both.is_empty():
        return 0, None, NOTHING_COMMON
    design = first["design"][0]
    left, right = (both[name].fill_null(np.nan).to_numpy() for name in ("value", "value_second"))
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
