"""A home that was moved is read where it is, without writing; one that goes away is missed in plain words."""

import shutil
import sqlite3
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.rows import logprobs, store_part
from warehouse import Warehouse, WarehouseError, write_part
from warehouse.storage import opened_homes

COUNT = "SELECT count(*) FROM item_logprob"


@pytest.fixture
def moved(warehouse: Warehouse, tmp_path: Path) -> Path:
    """A filled home at another place."""
    store_part(warehouse, logprobs())
    return Path(shutil.move(warehouse.home, tmp_path / "elsewhere"))


def files(home: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}


def test_moved_home_is_read_without_a_write(moved: Path) -> None:
    before = files(moved)
    assert Warehouse.existing(moved).query(COUNT).item() == 4
    assert files(moved) == before


def test_other_programs_see_the_new_place_after_the_next_write(moved: Path) -> None:
    with Warehouse.open(moved).write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
    with duckdb.connect(str(moved / "culturemeter.duckdb"), read_only=True) as connection:
        assert connection.execute(COUNT).fetchone() == (4,)


def test_home_that_goes_away_is_not_made_anew(warehouse: Warehouse, moved: Path) -> None:
    opened_homes.add(warehouse.home)
    for use in (
        lambda: write_part(warehouse.store, "item_logprob", "p", logprobs()),
        lambda: warehouse.store.log,
        lambda: warehouse.query(COUNT),
        lambda: Warehouse.open(warehouse.home),
        lambda: warehouse.write().__enter__(),
    ):
        with pytest.raises(WarehouseError, match="is gone: the warehouse was moved or deleted"):
            use()
    assert not warehouse.home.exists()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE registration SET unit = 'IS'",
        "UPDATE registration SET part = replace(part, '-', '.')",
        "UPDATE registration SET id = id + 5",
        "UPDATE registration SET n_rows = n_rows + 1",
        "DELETE FROM registration",
    ],
)
def test_changed_registration_is_noticed(warehouse: Warehouse, change: str) -> None:
    warehouse.store.log.append(write_part(warehouse.store, "item_logprob", "p", logprobs()))
    with sqlite3.connect(warehouse.home / "registrations.sqlite") as log:
        log.execute(change)
    log.close()
    assert warehouse.query(COUNT).item() == 0
    assert list((warehouse.home / "quarantine").glob("registrations.sqlite-*"))
