"""What the worldwise page is made from: verdicts, pooled shares, scales."""

from __future__ import annotations

import polars as pl
import pytest

from tasks.report.worldwise_bars import Scale, bar_panels
from tasks.report.worldwise_cells import Row, told
from tasks.report.worldwise_models import pooled_shares
from tasks.report.worldwise_rows import Box, box_figure


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.2, 1), (0.0, 0.2, 0), (-0.1, 0.0, 0), (-0.2, -0.01, -1), (None, None, 0)],
)
def test_gain_is_told_where_its_whole_interval_is_on_one_side(
    low: float | None, high: float | None, expected: int
) -> None:
    assert told({"ci_low": low, "ci_high": high}) == expected
    assert told(None) == 0


def test_pooled_shares_weigh_cultures_by_their_answers() -> None:
    shares = {"IN:A": (0.5, 30), "IN:B": (0.5, 30), "IN:Decline": (0.0, 30), "JP:A": (0.1, 10),
              "JP:B": (0.1, 10), "JP:Decline": (0.8, 10)}  # fmt: skip

    def find(_: str, __: str, ___: str, where: str) -> Row | None:
        return {"value": shares[where][0], "n_scored": shares[where][1]} if where in shares else None

    # 16 of 40, 16 of 40, 8 of 40; Mexico was not scored
    assert pooled_shares(find, "m", ["IN", "JP", "MX"]) == pytest.approx((0.4, 0.4, 0.2))
    assert pooled_shares(find, "m", ["MX"]) is None


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0.0, ["0", "0.5", "1"]),
        (41.9, ["0", "25", "50"]),
        (9.7, ["0", "5", "10"]),
        (101.0, ["0", "100", "200"]),
    ],
)
def test_bars_end_at_the_next_round_number(largest: float, ticks: list[str]) -> None:
    row = {"model": ["m"], "row": ["r"], "value": [largest], "ci_low": [None], "ci_high": [None],
           "null_value": [largest / 2], "mark": [""]}  # fmt: skip
    cells = pl.DataFrame(row, schema_overrides={"ci_low": pl.Float64, "ci_high": pl.Float64})
    svg = bar_panels(cells, {"r": "r"}, Scale("points", "nothing", None), "bars", "bars")
    assert [svg.find(f">{tick}</text>") > 0 for tick in ticks] == [True] * 3


def test_box_of_one_value_and_of_none() -> None:
    svg = box_figure([Box("one", [8.0], None, 8.0), Box("none", [], 7.0, None)], "boxes", "boxes")
    assert ">not scored</text>" in svg
    assert ">7</text>" in svg
    assert ">8</text>" in svg
