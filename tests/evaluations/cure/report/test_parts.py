"""What the CURE page is made from: frames and the order of countries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from deployments.show.report import read_data
from tasks.evaluations.cure.report.data import Data
from tasks.evaluations.cure.rubrics import METRICS
from tests.evaluations.cure.report.example_run import (
    CONFIG,
    Made,
    gains,
    label_rows,
    store,
    store_study,
)
from warehouse import Warehouse, WarehouseError


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    store(warehouse, "thin", list(label_rows("casa", "thin", 0.7, ["IN"], 0)), "thin")
    good = Made(0.8, 0.85, gains(0.4, 0.3, 0.3, 0.05))
    other = Made(0.6, 0.5, gains(0.3, 0.05, 0.2, 0.0), is_kin=True)
    store_study(warehouse, {"good": good, "other": other}, ["IN", "JP"])
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> Data:
    return read_data(warehouse, "cure")


def test_countries_are_ordered_by_all_labels_together(data: Data) -> None:
    # 9 of 10 and 0 of 2: 0.75; 7 of 10 and 2 of 2: 0.75, so by code; 6 of 10: 0.6
    cells = [("normad:thin:JP", 0.9, 10), ("casa:thin:JP", 0.0, 2), ("normad:thin:IN", 0.7, 10),
             ("casa:thin:IN", 1.0, 2), ("normad:thin:US", 0.6, 10), ("normad:thin:FR", None, 0)]  # fmt: skip
    types = {"value": pl.Float64}
    exact = pl.DataFrame(cells, schema={"slice": pl.String, **types, "n_scored": pl.Int64}, orient="row")
    fixed = {"is_null": False, "metric": "exact_match", "slice_kind": "benchmark_mode_country"}
    values = exact.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    assert list(replace(data, values=values).asked_countries) == ["IN", "JP", "US", "FR"]


def test_frames_are_of_one_configuration(warehouse: Warehouse, data: Data) -> None:
    assert data.config_hash == CONFIG
    assert set(data.leaderboard["model"]) == {"good", "other", "null:majority", "null:prior"}
    assert set(data.verdicts["metric"]) == set(METRICS.values())
    assert read_data(warehouse, "cure", "thin").verdicts.is_empty()
    with pytest.raises(WarehouseError, match="there are: "):
        read_data(warehouse, "cure", "unknown")


def test_empty_warehouse_says_what_to_run(copied_home: Callable[[], Path]) -> None:
    with pytest.raises(WarehouseError, match="culturescope run cure --profile smoke"):
        read_data(Warehouse.open(copied_home()), "cure")
