"""The guard over warehouses that several tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.untouched import assert_untouched, runs, shared_warehouses
from tests.warehouse.rows import make_run
from warehouse import Warehouse, save_run


def test_only_warehouses_of_shared_fixtures_are_watched(new_home: Path) -> None:
    warehouse = Warehouse.open(new_home)
    values = {"alone": warehouse, "shared": warehouse, "pair": ("params", warehouse), "number": 7}
    scopes = {"alone": "function", "shared": "module", "pair": "session", "number": "session"}
    assert shared_warehouses(values, scopes) == {"shared": warehouse, "pair": warehouse}


def test_added_or_removed_run_is_detected(new_home: Path) -> None:
    warehouse = Warehouse.open(new_home)
    shared, before = {"finished": warehouse}, {"finished": runs(warehouse)}
    assert_untouched(shared, before)
    with warehouse.write() as connection:
        save_run(connection, make_run("added", "m"))
    with pytest.raises(AssertionError, match="1 runs of finished"):
        assert_untouched(shared, before)
    with pytest.raises(AssertionError, match="1 runs of finished"):
        assert_untouched(shared, {"finished": runs(warehouse) | {"gone"}})


def test_own_copy_is_independent(new_home: Path, own_copy: Callable[[Warehouse], Warehouse]) -> None:
    warehouse = Warehouse.open(new_home)
    copy = own_copy(warehouse)
    assert copy.home != warehouse.home
    assert Warehouse.open().home == copy.home
    (copy.home / "mark").touch()
    assert not (warehouse.home / "mark").exists()
