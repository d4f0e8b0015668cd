"""The frames of the spectral page, from a real warehouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.show.report import read_data
from tasks.evaluations.spectral.report import REPORT
from tasks.evaluations.spectral.report.data import SpectralData
from tests.evaluations.spectral.report.example_run import CODES, LOST, store
from tests.report.pages import check_page, parsed, section
from warehouse import Warehouse


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> SpectralData:
    warehouse = Warehouse.open(copied_home())
    store(warehouse, "model-a", "older")
    store(warehouse, "model-a", "newer")
    store(warehouse, "null:list-frequency", "newer")
    data: SpectralData = read_data(warehouse, "spectral")
    return data


def test_every_frame_is_filled_from_the_newest_configuration(data: SpectralData) -> None:
    assert data.config_hash == "newer"
    assert data.leaderboard["model"].to_list() == ["model-a", "null:list-frequency"]
    assert data.run_countries["country"].to_list() == CODES
    assert data.similarity.height == 6
    assert data.competence == {("model-a", "currency"): dict.fromkeys(CODES, 0.9)}
    assert data.domains.select("domain", "n_items").rows() == [
        ("religions", None),
        ("holidays", None),
        ("currency", 2),
    ]
    assert data.by_question.height == 6
    assert data.configurations["configuration"].to_list() == ["newer", "older"]
    assert data.metrics.height > 10
    assert data.sources.height > 5


def test_unscored_metrics_of_one_reason_are_one_row(data: SpectralData) -> None:
    (row,) = data.unscored.to_dicts()
    assert row["metric"] == "effective_rank, er_high, spectral_gap_ratio, sr_high"
    assert (row["slice"], row["n_unscored"]) == ("holidays-1", 4)


def test_page_of_stored_runs_stands(data: SpectralData) -> None:
    page = parsed(REPORT, data)
    check_page(page)
    assert LOST in section(page, "unscored")
    assert "Germany" in section(page, "provenance")
