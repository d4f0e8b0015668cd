"""What the tests of rows share: look-ups in them, and what every row must be."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from tasks.metric_rows import Metric

REPOSITORY = Path(__file__).parents[3]
METRICS = {
    row["metric"]: row
    for row in csv.DictReader((REPOSITORY / "warehouse/reference/metric/fmlama.csv").open(encoding="utf-8"))
    if row["evaluation"] == "fmlama"
}


def one(rows: Sequence[Metric], metric: str, name: str = "en:en:no") -> Metric:
    """The row of a metric and slice."""
    (row,) = [r for r in rows if r.metric == metric and r.slice == name]
    return row


def keys(rows: Sequence[Metric]) -> list[tuple[str, str, str]]:
    """What identifies the rows, in order."""
    return sorted((r.metric, r.slice_kind, r.slice) for r in rows)


def check(rows: Sequence[Metric]) -> None:
    """What metric_value and the checks of the warehouse demand of every row."""
    assert len(keys(rows)) == len(set(keys(rows)))
    for r in rows:
        assert (r.value is None) == (r.unscored_reason is not None), r
        assert r.unscored_reason != "", r
        numbers = [v for v in (r.value, r.ci_low, r.ci_high, r.null_value) if v is not None]
        assert all(type(v) is float and math.isfinite(v) for v in numbers), r
        assert (type(r.n_scored), type(r.n_unscored)) == (int, int), r
        assert (r.n_scored > 0) == (r.value is not None), r
        assert r.n_unscored >= 0, r
        assert r.n_scored + r.n_unscored > 0, r
        low, high = (METRICS[r.metric][end] for end in ("range_low", "range_high"))
        assert all(float(low) - 1e-9 <= v <= float(high or math.inf) + 1e-9 for v in numbers), r
        if r.ci_low is not None and r.ci_high is not None:
            assert r.ci_low <= r.ci_high, r
