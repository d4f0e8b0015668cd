"""Numbers that cure's page computes itself; ``tests.report.test_contract`` holds what the page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from deployments.show.report import read_data
from tasks.evaluations.cure.params import METRICS
from tasks.evaluations.cure.report import CureData, mode_pairs, separations
from tasks.report.judges import judge_lines
from tests.report import test_contract as made
from tests.report.stored import CONFIG
from warehouse import Warehouse


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    made.store_cure(warehouse)
    return warehouse


@pytest.fixture(name="data", scope="module")
def _data(warehouse: Warehouse) -> CureData:
    data: CureData = read_data(warehouse, "cure")
    assert data.config_hash == CONFIG
    return data


def test_scores_over_models_are_paired_by_model(warehouse: Warehouse) -> None:
    # 0.50 to 0.75 and 0.55 to 0.80 in steps of 0.05: IQR 0.125; Wilcoxon of six equal signs 2 / 2^6 = 0.031
    first, *others = mode_pairs(read_data(warehouse, "cure", "many"))
    assert (first["label"], first["n"], others[3]["label"]) == ("NormAd", 6, "mean of all")
    assert (first["difference"], first["p"]) == pytest.approx((0.05, 2 / 64))
    assert first["thin"]["iqr"] == pytest.approx(0.125)


def test_agreement_of_people_alone_validates_no_judge(data: CureData) -> None:
    def validated(validation: pl.DataFrame) -> list[bool]:
        return [line["validated"] for line in judge_lines(data.verdicts, validation, [*METRICS.values()])]

    alone = data.validation.filter(pl.col("metric").str.starts_with("krippendorff"))
    assert validated(data.validation) == [True, False, False, False]
    assert validated(alone) == [False] * 4


def test_separations_read_validation_and_scores_of_each_metric(data: CureData) -> None:
    board = data.leaderboard.with_columns(validated=pl.when("is_null").then(None).otherwise(True))
    assert [each.validated for each in separations(data)] == [True, False, False, False]
    assert [each.validated for each in separations(replace(data, leaderboard=board))] == [True] * 4
    lost = (pl.col("metric") == "explanation_gain") & (pl.col("slice") == "specnorm")
    columns = [pl.when(~lost).then(pl.col(c)).alias(c) for c in ("value", "ci_low", "ci_high")]
    checks = separations(replace(data, values=data.values.with_columns(columns)))
    assert [bool(check.judged) for check in checks] == [True, True, True, False]


def test_the_figure_shows_the_twelve_countries_with_the_most_labels(warehouse: Warehouse) -> None:
    data = read_data(warehouse, "cure", "many")
    own = data.values.filter(slice_kind="benchmark_mode_country")["slice"]
    codes = sorted({slice_.split(":")[2] for slice_ in own})
    few = pl.col("slice").str.contains(rf":({'|'.join(codes[2:6])})$")
    values = data.values.with_columns(n_scored=pl.when(few).then(1).otherwise("n_scored"))
    assert set(replace(data, values=values).shown_countries) == {*codes[:2], *codes[6:]}


def test_countries_are_ordered_by_their_share_of_right_labels(data: CureData) -> None:
    # 9 of 10 and 0 of 2: 0.75; 7 of 10 and 2 of 2: 0.75, so by code; 6 of 10: 0.6
    cells = [("normad:thin:JP", 0.9, 10), ("casa:thin:JP", 0.0, 2), ("normad:thin:IN", 0.7, 10),
             ("casa:thin:IN", 1.0, 2), ("normad:thin:US", 0.6, 10), ("normad:thin:FR", None, 0)]  # fmt: skip
    types = {"value": pl.Float64}
    exact = pl.DataFrame(cells, schema={"slice": pl.String, **types, "n_scored": pl.Int64}, orient="row")
    fixed = {"is_null": False, "metric": "exact_match", "slice_kind": "benchmark_mode_country"}
    values = exact.with_columns(**{name: pl.lit(value) for name, value in fixed.items()})
    assert list(replace(data, values=values).all_countries) == ["IN", "JP", "US", "FR"]
