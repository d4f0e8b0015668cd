"""Rank sets of the models on a board, computed when the board is read. No model runs.

A rank depends on who else is on the board, so no run stores one: a row never changes because somebody else
ran. A set is over the models that the board shows: the newest run of each model under one configuration, on
an occasion. A null model is a reference and no contestant; it has no rank and takes none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasks.metrics.ranks import PairTests, can_separate, mean_pair_tests, rank_sets
from tasks.metrics.types import FloatArray
from warehouse import Warehouse, read_points

if TYPE_CHECKING:
    import polars as pl

_SCORED = """
SELECT r.evaluation, r.config_hash, m.metric, m.direction, m.unit, r.run_id, r.model, r.engine_hash, v.value
FROM latest_run AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
WHERE list_contains($configs, r.config_hash) AND NOT r.is_null AND v.value IS NOT NULL
    AND m.direction IN ('higher', 'lower')
ORDER BY r.evaluation, r.config_hash, m.rowid, r.model, r.run_id
"""
_SHOWN = "SELECT DISTINCT config_hash FROM latest_run WHERE NOT is_null ORDER BY ALL"

TOO_FEW = "no two models can be told apart: {n} clusters are too few for {k} models"
NO_POINTS = "no two models can be told apart: fewer than two runs stored points to compare"
VARIABLE = "rank_sets"
"""Variable that the view ``rank_set`` reads."""


class Ranked(NamedTuple):
    """A model's rank set on a headline: every rank from ``low`` (best) to ``high`` is possible.

    n_models: models with a value; reason: why nothing separates any two of them; None if something could.
    """

    evaluation: str
    config_hash: str
    metric: str
    run_id: str
    model: str
    value: float
    low: int
    high: int
    n_models: int
    reason: str | None


def ranked(
    warehouse: Warehouse,
    configs: Sequence[str] | None = None,
    occasion: str | None = None,
    metric: str | None = None,
) -> list[Ranked]:
    """Return the rank sets of all models with a value, by evaluation, configuration, headline and model.

    Args:
        configs: config_hashes; None: all.
        occasion: as of a board; None: the newest run of each model.
        metric: one headline; None: all.
    """
    variables = {} if occasion is None else {"occasion": occasion}
    if configs is None:
        configs = [key for (key,) in warehouse.rows(_SHOWN, variables=variables).rows]
    if not configs:
        return []
    boards: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in warehouse.rows(_SCORED, {"configs": list(configs)}, variables).dicts():
        if metric in (None, row["metric"]):
            boards.setdefault((row["evaluation"], row["config_hash"], row["metric"]), []).append(row)
    points = _points(warehouse, [rows for rows in boards.values() if len(rows) > 1])
    resampled = any(frame["design"][0] != "item" for frame in points.values())
    alone = _alone(warehouse) if resampled else {}
    return [row for rows in boards.values() for row in _ranked(rows, points, alone)]


def variables(rows: Sequence[Ranked]) -> dict[str, list[str]]:
    """Return the variables with which a query finds these rows in the view ``rank_set``."""
    return {VARIABLE: [json.dumps(row._asdict()) for row in rows]} if rows else {}


def _points(
    warehouse: Warehouse, boards: Sequence[Sequence[Mapping[str, Any]]]
) -> dict[tuple[str, str], pl.DataFrame]:
    """Return run and headline -> stored points, of the runs that stored some."""
    wanted: dict[str, list[str]] = {}
    for rows in boards:
        for row in rows:
            wanted.setdefault(row["run_id"], []).append(row["metric"])
    if not wanted:
        return {}
    frames = read_points(warehouse, wanted)
    return {
        (run, str(metric)): own
        for run, frame in frames.items()
        for (metric,), own in frame.group_by("metric")
    }


def _alone(warehouse: Warehouse) -> dict[str, str]:
    """Return the configurations whose cohort is a single model, with its engine."""
    from flows.comparison import ALONE

    return dict(warehouse.rows(ALONE).rows)


def _ranked(
    rows: Sequence[Mapping[str, Any]],
    points: Mapping[tuple[str, str], pl.DataFrame],
    alone: Mapping[str, str],
) -> list[Ranked]:
    """Return the rank sets of one board's rows on one headline."""
    k = len(rows)
    tests = _tests(rows, [points.get((row["run_id"], row["metric"])) for row in rows], alone)
    sign = -1.0 if rows[0]["direction"] == "lower" else 1.0
    sets = rank_sets(sign * tests.difference, tests.p_value)
    reason = None
    if k > 1 and not can_separate(tests):
        n = int(tests.n_clusters.max(initial=0))
        reason = TOO_FEW.format(n=n, k=k) if n else NO_POINTS
    columns = ("evaluation", "config_hash", "metric", "run_id", "model", "value")
    return [
        Ranked(**{name: row[name] for name in columns}, **ranks._asdict(), n_models=k, reason=reason)
        for row, ranks in zip(rows, sets, strict=True)
    ]


def _tests(
    rows: Sequence[Mapping[str, Any]], own: Sequence[pl.DataFrame | None], alone: Mapping[str, str]
) -> PairTests:
    """Return the tests of all pairs, the same as ``compare`` has; none for a run without points."""
    k, there = len(rows), [place for place, frame in enumerate(own) if frame is not None]
    tests = PairTests.none(k)
    if len(there) < 2:
        return tests
    frames = [frame for frame in own if frame is not None]
    if all(frame["design"][0] == "item" for frame in frames):
        block = np.ix_(there, there)
        for whole, part in zip(tests, mean_pair_tests(*_aligned(frames)), strict=True):
            whole[block] = part
        return tests
    from flows.comparison import difference_of

    for one, two in combinations(there, 2):
        first, second = rows[one], rows[two]
        is_alone = alone.get(first["config_hash"]) in (first["engine_hash"], second["engine_hash"])
        values, is_correlation = (first["value"], second["value"]), first["unit"] == "correlation"
        n, result, _ = difference_of(values, own[one], own[two], is_correlation, is_alone)
        if result is not None and result.p_value is not None:
            for a, b, sign in ((one, two, 1), (two, one, -1)):
                tests.difference[a, b] = sign * result.value
                tests.p_value[a, b], tests.n_clusters[a, b] = result.p_value, n
    return tests


def _aligned(frames: Sequence[pl.DataFrame]) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """Return values [items, models], NaN if a model has none, and each item's cluster."""
    import polars as pl

    columns = ("unit", "cluster", "value")
    every = pl.concat([frame.select(*columns, place=pl.lit(i)) for i, frame in enumerate(frames)])
    codes = every.select(
        "place", "value", *(pl.col(name).rank("dense").cast(pl.Int64) - 1 for name in columns[:2])
    )
    unit = codes["unit"].to_numpy()
    values = np.full((int(unit.max()) + 1, len(frames)), np.nan)
    values[unit, codes["place"].to_numpy()] = codes["value"].fill_null(np.nan).to_numpy()
    clusters = np.empty(len(values), dtype=np.intp)
    clusters[unit[::-1]] = codes["cluster"].to_numpy()[::-1]  # of the first model that has the item
    return values, clusters
