"""Look-ups in rows of any evaluation, and the checks of every row."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.loop.rows import Metric

CATALOGUE = Path(__file__).parents[2] / "warehouse" / "reference" / "metric"


def metrics(evaluation: str) -> Mapping[str, Mapping[str, str]]:
    """Return the catalogue's lines of an evaluation, by metric."""
    with (CATALOGUE / f"{evaluation}.csv").open(encoding="utf-8") as file:
        return {row["metric"]: row for row in csv.DictReader(file) if row["evaluation"] == evaluation}


RANGES = {
    name: (float(row["range_low"] or -math.inf), float(row["range_high"] or math.inf))
    for file in CATALOGUE.glob("*.csv")
    for name, row in metrics(file.stem).items()
}
"""The lowest and the highest value of each metric; a name that evaluations share has one range."""

UNBOUNDED = {"spectral_gap_ratio"}
"""Infinite where the second eigenvalue is 0."""


def one(rows: Sequence[Metric], metric: str, name: str = "all", kind: str | None = None) -> Metric:
    """Return the row of a metric and slice."""
    (row,) = [r for r in rows if r.metric == metric and r.slice == name and kind in (None, r.slice_kind)]
    return row


def keys(rows: Sequence[Metric]) -> list[tuple[str, str, str]]:
    """Return sorted keys of the rows."""
    return sorted((r.metric, r.slice_kind, r.slice) for r in rows)


def check(rows: Sequence[Metric]) -> None:
    """Check what the warehouse demands of every row."""
    assert len(keys(rows)) == len(set(keys(rows)))
    for r in rows:
        assert (r.value is None) == (r.unscored_reason is not None), r
        assert r.unscored_reason != "", r
        numbers = [v for v in (r.value, r.ci_low, r.ci_high, r.null_value) if v is not None]
        assert all(type(v) is float and (math.isfinite(v) or r.metric in UNBOUNDED) for v in numbers), r
        assert (type(r.n_scored), type(r.n_unscored)) == (int, int), r
        assert (r.n_scored > 0) == (r.value is not None), r
        assert r.n_unscored >= 0, r
        assert r.n_scored + r.n_unscored > 0, r
        low, high = RANGES[r.metric]
        assert all(low - 1e-9 <= v <= high + 1e-9 for v in numbers), r
        assert (r.ci_low is None) == (r.ci_high is None), r
        if r.ci_low is not None and r.ci_high is not None:
            assert r.value is not None, r
            assert r.ci_low <= r.ci_high, r
