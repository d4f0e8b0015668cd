"""What the cure page and the leaderboard command are made from: frames, order of countries, lines."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest
from deployments.evaluations.cure.leaderboard import LEADERBOARD
from deployments.evaluations.cure.report import read_data
from tasks.report.cure_cells import countries_of
from tasks.report.cure_data import METRICS, CureData
from tasks.report.cure_modes import Spread, modes_figure
from tasks.report.cure_page import listed

from tests.evaluations.cure.report.example_run import (
    CONFIG,
    MAJORITY,
    Made,
    gains,
    label_rows,
    store,
    store_study,
)
from warehouse import Warehouse, WarehouseError


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse.open(tmp_path_factory.mktemp("home"))
    store(warehouse, "thin", list(label_rows("casa", "thin", 0.7, ["IN"], 0)), "thin")
    good = Made(0.8, 0.85, gains(0.4, 0.3, 0.3, 0.05))
    other = Made(0.6, 0.5, gains(0.3, 0.05, 0.2, 0.0), is_kin=True)
    store_study(warehouse, {"good": good, "other": other}, ["IN", "JP"])
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> CureData:
    return read_data(warehouse)


def test_countries_are_ordered_by_all_labels_together(data: CureData) -> None:
    # 9 of 10 and 0 of 2: 0.75; 7 of 10 and 2 of 2: 0.75, so by code; 6 of 10: 0.6
    cells = [("normad:thin:JP", 0.9, 10), ("casa:thin:JP", 0.0, 2), ("normad:thin:IN", 0.7, 10),
             ("casa:thin:IN", 1.0, 2), ("normad:thin:US", 0.6, 10), ("normad:thin:FR", None, 0)]  # fmt: skip
    types = {"value": pl.Float64}
    made = pl.DataFrame(cells, schema={"slice": pl.String, **types, "n_scored": pl.Int64}, orient="row")
    fixed = {"is_null": False, "metric": "exact_match", "slice_kind": "benchmark_mode_country"}
    values = made.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    assert list(countries_of(replace(data, values=values))) == ["IN", "JP", "US", "FR"]


def test_words_are_listed() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_frames_are_of_one_configuration(warehouse: Warehouse, data: CureData) -> None:
    assert data.config_hash == CONFIG
    assert set(data.leaderboard["model"]) == {"good", "other", "null:majority", "null:prior"}
    assert set(data.verdicts["metric"]) == set(METRICS.values())
    assert read_data(warehouse, "thin").verdicts.is_empty()
    with pytest.raises(WarehouseError, match="there are: "):
        read_data(warehouse, "unknown")


def test_empty_warehouse_says_what_to_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(WarehouseError, match="culturescope run cure --profile smoke"):
        read_data(Warehouse.open(tmp_path_factory.mktemp("empty")))


def test_command_shows_flags_and_judge(warehouse: Warehouse) -> None:
    assert warehouse.query(LEADERBOARD.newest).item() == CONFIG
    rows = warehouse.query(LEADERBOARD.rows, [CONFIG]).to_dicts()
    shown = [LEADERBOARD.line(row) for row in rows]
    assert [row["benchmark"] for row in shown[::4]] == list(METRICS)
    assert shown[0]["explanations [95 %]"] == "coverage 0.700 [0.620, 0.780]"
    assert [row["tells real"] for row in shown[4:8]] == ["yes", "NO", "–", "–"]
    assert [row["judge"] for row in shown[4:8]] == ["not validated", "not validated, own family", "–", "–"]
    assert shown[2]["thin EM"] == f"{MAJORITY['normad']:.3f}"


@pytest.mark.parametrize(("n_models", "boxes"), [(1, 0), (3, 0), (4, 2), (10, 2)])
def test_spread_has_boxes_from_four_models(n_models: int, boxes: int) -> None:
    scores = {f"m{i}": i / 10 for i in range(n_models)}
    spread = Spread("NormAd", {"thin": scores, "thick": scores}, None, None)
    paths = re.findall(r'<path d="([^"]*)"[^>]*style="([^"]*)"', modes_figure([spread], "a", "b"))
    # A box is a closed line of five corners; the other such paths are filled patches, without line ends.
    assert sum(d.count("L") == 4 and "stroke-linecap" in style for d, style in paths) == boxes
