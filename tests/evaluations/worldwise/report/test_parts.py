"""What the WorldWise page is made from: pooled shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from deployments.show.report import read_data
from tasks.evaluations.worldwise.report.data import WorldwiseData
from tests.evaluations.worldwise.report.example_run import store_study
from tests.report.stored import row
from warehouse import Warehouse


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> WorldwiseData:
    warehouse = Warehouse.open(copied_home())
    store_study(warehouse, {"m": 0.2}, ["IN", "JP", "MX"])
    data: WorldwiseData = read_data(warehouse, "worldwise")
    return data


def test_pooled_shares_weigh_cultures_by_their_answers(data: WorldwiseData) -> None:
    shares = {"IN:A": (0.5, 30), "IN:B": (0.5, 30), "IN:Decline": (0.0, 30), "JP:A": (0.1, 10),
              "JP:B": (0.1, 10), "JP:Decline": (0.8, 10)}  # fmt: skip
    others = data.values.filter(pl.col("metric") != "decision_share").drop(
        "evaluation", "config_hash", "place"
    )
    cells = [
        row("decision_share", ("culture_decision", where), share, n_scored=n)
        | {"model": "m", "is_null": False}
        for where, (share, n) in shares.items()
    ]
    own = pl.DataFrame(cells, schema=others.schema, infer_schema_length=None)
    pooled = replace(data, values=pl.concat([others, own]))
    # 16 of 40, 16 of 40, 8 of 40; Mexico was not scored
    assert pooled.pooled_shares("m") == pytest.approx((0.4, 0.4, 0.2))
    assert pooled.shares("m", "JP") == (0.1, 0.1, 0.8)
    assert pooled.shares("m", "MX") is None
    assert replace(data, values=others).pooled_shares("m") is None
