"""A published site is checked against its hashes and against its warehouse."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from deployments.publish import site as site_module
from deployments.publish.site import MARK, verify
from tasks.data import parquet
from tests.deployments.commands import call, refused
from warehouse import Warehouse, WarehouseError

METRICS = "data/metric_value.parquet"


@pytest.fixture
def published(published_site: Path) -> Path:
    return published_site


@pytest.fixture
def site(published: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(published, tmp_path / "site"))


def test_unchanged_site_has_no_problems(published: Path, filled: Warehouse) -> None:
    done = verify(published, warehouse=filled)
    assert done.problems == []
    assert done.n_files == len(json.loads((published / MARK).read_text())["files"])
    assert done.n_parts == 1
    assert verify(published, done.fingerprint[:8]).problems == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda site: (site / "index.html").write_text("better"), "index.html"),
        (lambda site: (site / "query.js").unlink(), "query.js"),
        (lambda site: (site / "more.html").write_text("x"), "more.html"),
        (lambda site: (site / METRICS).write_bytes(b"PAR1"), METRICS),
    ],
)
def test_changed_missing_or_added_file_is_named(
    site: Path, change: Callable[[Path], object], name: str
) -> None:
    change(site)
    (problem,) = verify(site).problems
    assert problem.startswith(f"{name}: ")


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
@pytest.mark.parametrize("name", [METRICS, MARK])
def test_what_is_no_file_is_not_read(site: Path, kind: str, name: str) -> None:
    """Reading a pipe would never end."""
    kept = (site / name).rename(site.with_name("kept"))
    match kind:
        case "pipe":
            os.mkfifo(site / name)
        case "link":
            (site / name).symlink_to(kept)
        case _:
            (site / name).mkdir()
    if name == MARK:
        with pytest.raises(WarehouseError, match="is not a site of culturemeter"):
            verify(site)
        return
    (problem,) = verify(site).problems
    assert problem in (f"{name}: changed since publishing", f"{name}: missing")


def test_a_list_of_files_of_any_size_is_not_read(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_module, "_LARGEST_MARK", 100)
    with pytest.raises(WarehouseError, match="is not a site of culturemeter"):
        verify(site)


def edited(site: Path) -> None:
    """Change a number and its hash in the list of files."""
    frame = pl.read_parquet(site / METRICS).with_columns(pl.col("value") + 0.1)
    frame.write_parquet(site / METRICS)
    mark = json.loads((site / MARK).read_text())
    mark["files"][METRICS] = sha256((site / METRICS).read_bytes()).hexdigest()
    (site / MARK).write_text(json.dumps(mark))


def test_changed_hashes_are_detected_by_fingerprint_and_warehouse(
    published: Path, site: Path, filled: Warehouse
) -> None:
    edited(site)
    assert verify(site).problems == []
    (problem,) = verify(site, verify(published).fingerprint).problems
    assert "the fingerprint is" in problem
    (problem,) = verify(site, warehouse=filled).problems
    assert "metric rows are not in this warehouse" in problem


@pytest.mark.parametrize("content", [b"", b"PAR1" + bytes(99) + b"PAR1", None])
def test_a_table_that_cannot_be_read_is_a_problem(
    site: Path, filled: Warehouse, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is damaged, or unpacks to more than may be read."""
    monkeypatch.setattr(parquet, "MOST_BYTES", 2**20)
    if content is None:
        noise = pl.select(value=pl.int_range(2**18)).sample(fraction=1, shuffle=True, seed=0)
        noise.write_parquet(site / METRICS)
    else:
        (site / METRICS).write_bytes(content)
    problems = verify(site, warehouse=filled).problems
    assert [problem for problem in problems if "it unpacks to" in problem or "not a readable" in problem]


def test_a_table_of_other_columns_is_a_problem(site: Path, filled: Warehouse) -> None:
    pl.DataFrame({"nothing": [1]}).write_parquet(site / METRICS)
    problems = verify(site, warehouse=filled).problems
    assert any("not a readable table of metric rows" in problem for problem in problems)


def test_parts_missing_from_the_warehouse_are_counted(
    published: Path, copied_home: Callable[[], Path]
) -> None:
    problems = verify(published, warehouse=Warehouse.open(copied_home())).problems
    assert problems[0].startswith("1 of 1 parts with answers are not in this warehouse, such as item")


@pytest.mark.parametrize("text", [None, "{}", "[1]", '{"files": 3}', "\x00"])
def test_folder_that_is_not_a_site_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / MARK).write_text(text)
    with pytest.raises(WarehouseError, match="is not a site of culturemeter"):
        verify(tmp_path)


def test_verify_exits_with_1_for_a_wrong_fingerprint(site: Path) -> None:
    call("verify", site)
    assert "differs" in refused("verify", site, "--fingerprint", "00000000")
