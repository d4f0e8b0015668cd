"""A guard that warehouses which several tests share stay unchanged; a plugin of tests/conftest.py.

A test that added runs would change the counts of later tests. It uses the fixture ``own_copy`` instead.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from warehouse import Warehouse


def shared_warehouses(funcargs: Mapping[str, Any], scopes: Mapping[str, str]) -> dict[str, Warehouse]:
    """Return the warehouses of fixtures that last longer than one test, by the fixture's name.

    A fixture's value may be a warehouse or a tuple that contains one.
    """
    found = {}
    for name, value in funcargs.items():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Warehouse) and scopes.get(name, "function") != "function":
                found[name] = part
    return found


_known: dict[str, tuple[object, set[str]]] = {}
"""Place of a warehouse -> its version and runs: most tests leave both as they are."""


def runs(warehouse: Warehouse) -> set[str]:
    """Return the ids of the warehouse's runs."""
    version = warehouse.store.version()
    if version is None or _known.get(warehouse.store.place, (None,))[0] != version:
        _known[warehouse.store.place] = (version, set(warehouse.query("SELECT run_id FROM run")["run_id"]))
    return _known[warehouse.store.place][1]


def assert_untouched(shared: Mapping[str, Warehouse], before: Mapping[str, set[str]]) -> None:
    """Raise AssertionError if the runs of a shared warehouse have changed since before the test."""
    for name, warehouse in shared.items():
        changed = runs(warehouse) ^ before[name]
        assert not changed, f"{len(changed)} runs of {name}, which tests share, changed: use own_copy"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that changes the runs of a shared warehouse."""
    fixtures = getattr(item, "_fixtureinfo", None)
    definitions = fixtures.name2fixturedefs if fixtures else {}
    scopes = {name: found[-1].scope for name, found in definitions.items()}
    shared = shared_warehouses(getattr(item, "funcargs", {}), scopes)
    before = {name: runs(warehouse) for name, warehouse in shared.items()}
    result = yield
    assert_untouched(shared, before)
    return result
