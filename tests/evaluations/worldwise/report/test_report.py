"""Numbers that worldwise's page computes itself; ``tests.report.test_contract`` holds what the page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from deployments.show.report import read_data
from tasks.evaluations.worldwise.frames import WorldwiseData
from tasks.evaluations.worldwise.report import REPORT, closest, figures
from tasks.report.bars import Bars
from tasks.report.marks import Marks
from tasks.report.parts import together
from tests.report import test_contract as made
from tests.report.pages import HOSTILE
from tests.report.stored import row
from warehouse import Warehouse


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    made.store_worldwise(warehouse)
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> WorldwiseData:
    data: WorldwiseData = read_data(warehouse, "worldwise")
    return data


def lead(data: WorldwiseData) -> str:
    return str(together(REPORT.page(data).lead))


def test_the_lead_needs_an_interval_for_a_claim(data: WorldwiseData) -> None:
    chosen = pl.col("model").is_in([HOSTILE, "worse"])
    some = replace(data, leaderboard=data.leaderboard.filter(chosen), values=data.values.filter(chosen))
    assert "No model is shown to beat" in lead(some)
    assert "the best gain in points: the values are <strong>−0.29 to +0.05</strong>" in lead(some)
    nothing = pl.lit(None, pl.Float64)
    bare = some.values.with_columns(ci_low=nothing, ci_high=nothing)
    assert "no gain has an interval" in lead(replace(some, values=bare))


def test_shares_are_pooled_by_the_answers_of_cultures(data: WorldwiseData) -> None:
    shares = {"IN:A": (0.5, 30), "IN:B": (0.5, 30), "IN:Decline": (0.0, 30), "JP:A": (0.1, 10),
              "JP:B": (0.1, 10), "JP:Decline": (0.8, 10)}  # fmt: skip
    others = data.values.filter(pl.col("metric") != "decision_share")
    others = others.drop("evaluation", "config_hash", "place")
    cells = [
        row("decision_share", ("culture_decision", where), share, n_scored=n)
        | {"model": "better", "is_null": False}
        for where, (share, n) in shares.items()
    ]
    own = pl.DataFrame(cells, schema=others.schema, infer_schema_length=None)
    pooled = replace(data, values=pl.concat([others, own]))
    # 16 of 40, 16 of 40, 8 of 40; the United States are not scored.
    assert pooled.pooled_shares("better") == pytest.approx([0.4, 0.4, 0.2])
    assert pooled.shares("better", "JP") == [0.1, 0.1, 0.8]
    assert pooled.shares("better", "US") is None
    assert replace(data, values=others).pooled_shares("better") is None


def test_marks_of_bars_are_those_of_gains_and_small_p(data: WorldwiseData) -> None:
    drawn = figures(data)
    aligned, shifted = drawn["cultures"], drawn["shift"]
    assert isinstance(aligned, Bars)
    assert isinstance(shifted, Bars)
    kinds = pl.col("slice_kind").is_in(["overall", "culture"])
    gains = data.values.filter(kinds, ~pl.col("is_null"), metric="alignment_gain")
    marks = [bar.mark for bar in aligned.bars]
    assert marks.count("▲") == gains.filter(pl.col("ci_low") > 0).height > 0
    assert marks.count("▼") == gains.filter(pl.col("ci_high") < 0).height > 0
    low = data.values.filter(pl.col("value") < 0.05, metric="value_shift_p")
    assert [bar.mark for bar in shifted.bars].count("*") == low.height > 0


def test_figures_of_many_show_both_ends(warehouse: Warehouse, data: WorldwiseData) -> None:
    many = read_data(warehouse, "worldwise", "many")
    means = (
        many.values.filter(~pl.col("is_null"), metric="alignment", slice_kind="culture")
        .group_by("slice").agg(pl.col("value").mean()).sort("value", "slice", descending=[True, False])
    )  # fmt: skip
    assert list(many.shown_cultures) == [*means["slice"][:6], *means["slice"][-6:]]
    easy = data.values.filter(slice_kind="scenario", metric="alignment").head(1)
    rows = [easy.with_columns(slice=pl.lit(f"own-{i:02}"), value=pl.lit(i / 10)) for i in range(30)]
    others = data.values.filter(pl.col("slice_kind") != "scenario")
    drawn = figures(replace(data, values=pl.concat([others, *rows])))["scenarios"]
    assert isinstance(drawn, Marks)
    # From easy to hard; a user's own scenarios have no title.
    assert [line.label for line in drawn.lines] == [
        f"own-{i:02}" for i in (*range(29, 19, -1), *range(9, -1, -1))
    ]
    assert drawn.cut == 10


def test_without_baseline_answers_no_culture_is_the_closest(data: WorldwiseData) -> None:
    assert closest(data, "better")[0][0] == "IN"
    gone = data.values.filter(pl.col("metric") != "baseline_distance")
    assert closest(replace(data, values=gone), "better") == []
