"""From warehouse to page: which evaluations and configurations, how the file is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from deployments.show.report import (
    configuration,
    page,
    read_data,
    reported,
    usual_file,
    usual_path,
    write_report,
)
from tasks.evaluations.fmlama.report import REPORT as FMLAMA
from tests.evaluations.fmlama.report import example_run as fmlama
from tests.evaluations.spectral.report import example_run as spectral
from tests.report.pages import text_of
from tests.report.stored import CONFIG
from warehouse import Warehouse, WarehouseError


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    for model in fmlama.MODELS:
        fmlama.store(warehouse, model)
    spectral.store(warehouse, "model-a", "older")
    spectral.store(warehouse, "model-a", "newer")
    return warehouse


def test_an_empty_warehouse_is_refused_with_a_command(new_home: Path, tmp_path: Path) -> None:
    warehouse = Warehouse.open(new_home)
    with pytest.raises(WarehouseError, match="culturemeter run spectral --profile smoke"):
        write_report(warehouse, tmp_path / "report.html")
    with pytest.raises(WarehouseError, match="in place of spectral, any of culturall, cure, "):
        configuration(warehouse, None, None)
    assert not (tmp_path / "report.html").exists()


def test_a_page_is_written_as_a_whole(warehouse: Warehouse, tmp_path: Path) -> None:
    path = write_report(warehouse, tmp_path / "new" / "report.html")
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
    assert "Configuration newer" in text_of(page.select_one(".facts"))
    assert page.footer
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_evaluation_and_configuration_select_the_page(warehouse: Warehouse, tmp_path: Path) -> None:
    assert configuration(warehouse, None, None)[0] == "spectral"
    assert configuration(warehouse, None, CONFIG)[:2] == ("fmlama", CONFIG)
    assert configuration(warehouse, None, None, ["cure", "fmlama"])[0] == "fmlama"
    assert {"fmlama", "spectral"} <= set(reported())
    assert [usual_file(e) for e in ("spectral", "fmlama")] == ["report.html", "report-fmlama.html"]
    path = write_report(warehouse, tmp_path / "page.html", evaluation="fmlama")
    assert CONFIG in path.read_text(encoding="utf-8")
    with pytest.raises(WarehouseError, match="culturemeter run cure --profile smoke"):
        write_report(warehouse, tmp_path / "none.html", evaluation="cure")
    with pytest.raises(WarehouseError, match=r"no report of 'none'; known: .*fmlama.*spectral"):
        usual_file("none")
    with pytest.raises(WarehouseError, match=f"configuration 'unknown'; known: {CONFIG}, newer, older"):
        configuration(warehouse, None, "unknown")


@pytest.mark.heavy
def test_pages_link_to_pages_that_exist(warehouse: Warehouse, tmp_path: Path) -> None:
    def links(text: str) -> dict[str, tuple[object, object]]:
        page = BeautifulSoup(text, "lxml")
        assert text_of(page.select_one("nav [aria-current=page]")) == "fmlama"
        return {text_of(a): (a["href"], a.get("rel")) for a in page.select("nav a")}

    path = write_report(warehouse, tmp_path / usual_path("fmlama", CONFIG), evaluation="fmlama")
    assert links(path.read_text(encoding="utf-8")) == {}
    # spectral has a run and no page yet, the others have neither
    assert text_of(BeautifulSoup(path.read_text(), "lxml").nav).startswith("fmlama spectral ( culturemeter")
    write_report(warehouse, tmp_path / usual_path("spectral", "newer"))
    path = write_report(warehouse, path, evaluation="fmlama")
    assert links(path.read_text(encoding="utf-8")) == {"spectral": ("../newer/report.html", ["next"])}
    assert links(page(warehouse, "fmlama")) == {
        "overview": ("../../reports", ["prev"]),
        "spectral": ("../spectral/newer", ["next"]),
    }


def test_an_older_configuration_is_read_by_name(warehouse: Warehouse, tmp_path: Path) -> None:
    assert read_data(warehouse, "spectral", "older").config_hash == "older"
    with pytest.raises(WarehouseError, match="known: newer, older"):
        write_report(warehouse, tmp_path / "none.html", "unknown")


def test_frames_are_sorted_by_place_and_of_one_configuration(warehouse: Warehouse) -> None:
    data = read_data(warehouse, "fmlama")
    for field in fields(FMLAMA.data):
        if "view" in field.metadata:
            frame = getattr(data, field.name)
            assert frame.height, field.name
            assert frame["place"].is_sorted(), field.name
            if "config_hash" in field.metadata["by"]:
                assert set(frame["config_hash"]) == {CONFIG}, field.name
            if "evaluation" in field.metadata["by"]:
                assert set(frame["evaluation"]) == {"fmlama"}, field.name


def test_a_failed_write_keeps_the_old_page(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("warehouse.storage.publish", full)
    with pytest.raises(WarehouseError, match="no room to write"):
        write_report(warehouse, path, evaluation="fmlama")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
