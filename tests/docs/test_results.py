"""Recorded results: the page names every model of the leaderboard; its figures are small files beside it."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from warehouse import Warehouse, WarehouseError


@pytest.fixture(scope="module")
def results() -> ModuleType:
    """The script docs/results.py as a module."""
    spec = spec_from_file_location("docs_results", Path(__file__).parents[2] / "docs" / "results.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_page_lists_every_model_and_links_small_figures(
    results: ModuleType, six_runs: Warehouse, tmp_path: Path
) -> None:
    *figures, page = results.write_results(
        six_runs, "spectral", "golden", {"ranks", "effective-rank"}, tmp_path
    )
    assert [file.name for file in figures] == ["golden-effective-rank.svg", "golden-ranks.svg"]
    assert all(file.stat().st_size <= results.MOST_BYTES for file in figures)
    assert all(file.read_text(encoding="utf-8").startswith("<svg xmlns=") for file in figures)
    text = page.read_text(encoding="utf-8")
    for model in six_runs.query("SELECT model FROM leaderboard_spectral")["model"]:
        assert f"| {model} |" in text
    assert re.findall(r"\]\((.+svg)\)", text) == [file.name for file in figures]


def test_results_of_a_profile_without_run_are_refused(
    results: ModuleType, six_runs: Warehouse, tmp_path: Path
) -> None:
    with pytest.raises(WarehouseError, match="no finished run of spectral has the profile 'world'"):
        results.write_results(six_runs, "spectral", "world", set(), tmp_path)
