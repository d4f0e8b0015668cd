"""Tests of the guard over warehouses that several tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.untouched import assert_untouched, runs, shared_warehouses
from warehouse import Warehouse


def test_only_fixtures_that_outlast_a_test_are_watched(new_home: Path) -> None:
    warehouse = Warehouse.open(new_home)
    values = {"alone": warehouse, "shared": warehouse, "pair": ("params", warehouse), "number": 7}
    scopes = {"alone": "function", "shared": "module", "pair": "session", "number": "session"}
    assert shared_warehouses(values, scopes) == {"shared": warehouse, "pair": warehouse}


def test_a_run_that_came_or_went_is_seen(new_home: Path) -> None:
    warehouse = Warehouse.open(new_home)
    shared = {"finished": warehouse}
    assert_untouched(shared, {"finished": runs(warehouse)})
    with pytest.raises(AssertionError, match="1 runs of finished"):
        assert_untouched(shared, {"finished": runs(warehouse) | {"gone"}})


def test_a_copy_is_apart(new_home: Path, own_copy: Callable[[Warehouse], Warehouse]) -> None:
    warehouse = Warehouse.open(new_home)
    copy = own_copy(warehouse)
    assert copy.home != warehouse.home
    assert Warehouse.open().home == copy.home
    (copy.home / "mark").touch()
    assert not (warehouse.home / "mark").exists()
