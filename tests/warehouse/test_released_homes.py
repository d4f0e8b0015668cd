"""Homes that released versions filled (homes/*.tar.xz) are opened by the present code, also under kill -9."""

import random
import shutil
import subprocess
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

import warehouse.migrate as migrate_module
from tests.warehouse.rows import await_line, start_python
from warehouse import Warehouse, run_checks, verify_parts
from warehouse.local_store import FILE

HOMES = sorted((Path(__file__).parent / "homes").glob("*.tar.xz"))
ROWS = {
    "run": "SELECT run_id, model, config_hash, status, n_answers FROM run ORDER BY ALL",
    "metric_value": "SELECT run_id, metric, slice_kind, slice, value FROM metric_value ORDER BY ALL",
    "part_unit": "SELECT kind, request_hash, unit, part, n_rows FROM part_unit ORDER BY ALL",
    "item_logprob": "SELECT request_hash, country, item, logprob FROM item_logprob ORDER BY ALL",
    "response": "SELECT request_hash, item, text FROM response ORDER BY ALL",
    "leaderboard": "SELECT evaluation, model, metric, value FROM leaderboard ORDER BY ALL",
}
LATER = """
ALTER TABLE run_base ADD COLUMN {0} VARCHAR DEFAULT '';
UPDATE run_base SET {0} = model || '{0}';
"""
OPEN = """
import pathlib, sys
import warehouse.migrate as migrate
migrate._SCHEMA = pathlib.Path(sys.argv[1]).parent / "schema"
from warehouse import Warehouse
print("ready", flush=True)
Warehouse.open(pathlib.Path(sys.argv[1]))
"""


@pytest.fixture(params=HOMES, ids=[file.name.removesuffix(".tar.xz") for file in HOMES])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A home as a released version left it."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "home", filter="data")
    return tmp_path / "home"


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The schema with two further migrations that alter and update one table."""
    schema = tmp_path / "schema"
    shutil.copytree(migrate_module._SCHEMA, schema)
    for version, column in enumerate(("one", "two"), 900):
        (schema / f"{version}_{column}.sql").write_text(LATER.format(column))
    return schema


def rows(home: Path) -> dict[str, list[tuple[object, ...]]]:
    warehouse = Warehouse.open(home)
    return {name: warehouse.query(sql).rows() for name, sql in ROWS.items()}


def test_there_is_a_home_of_the_first_release() -> None:
    assert HOMES[0].name == "0.2.0.tar.xz"


def test_home_of_a_release_is_opened_with_its_rows(released: Path) -> None:
    """If the schema of a version that is not released yet has changed, run homes/make.py."""
    opened = rows(released)
    assert all(opened.values()), [name for name, found in opened.items() if not found]
    assert {row[-1] for row in opened["run"]} != {0}
    assert ("item_logprob", "q1") in {row[:2] for row in opened["part_unit"]}, "the waiting registration"
    assert verify_parts(Warehouse.open(released)).is_empty()
    assert not run_checks(Warehouse.open(released)).filter(check="request_without_run")["n_violations"].sum()


def test_home_of_a_release_takes_later_migrations(
    released: Path, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(released)
    monkeypatch.setattr(migrate_module, "_SCHEMA", later)
    assert rows(released) == before
    added = Warehouse.open(released).query(
        "SELECT DISTINCT one = model || 'one' AND two = model || 'two' FROM run_base"
    )
    assert added.item() is True


def opening(home: Path) -> "subprocess.Popen[str]":
    """Return a process that is about to open a home with the later migrations."""
    process = start_python(OPEN, home)
    await_line(process, "ready")
    return process


@pytest.mark.heavy
def test_home_of_a_release_survives_ten_kills_while_it_is_opened(
    released: Path, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, whole, kept = (
        (released / FILE).read_bytes(),
        released.with_name("whole"),
        released.with_name("kept"),
    )
    shutil.copytree(released, whole)
    shutil.copytree(released, kept)
    process, begun = opening(whole), time.monotonic()
    process.communicate()
    takes = time.monotonic() - begun
    monkeypatch.setattr(migrate_module, "_SCHEMA", later)
    expected, opened = rows(whole), (whole / FILE).read_bytes()
    assert opened != before
    drawn = random.Random(0)
    for _ in range(10):
        process = opening(released)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=drawn.uniform(0, takes))
        process.kill()
        process.communicate()
        if (released / FILE).read_bytes() != before:  # published before the kill, as a whole
            assert rows(released) == expected
            shutil.rmtree(released)
            shutil.copytree(kept, released)
    assert rows(released) == expected
    assert not list(released.glob("*.writing-*"))
