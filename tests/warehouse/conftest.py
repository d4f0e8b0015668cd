"""A fresh warehouse for each test, local or on a shared store."""

from pathlib import Path

import pytest

from warehouse import Warehouse
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at


@pytest.fixture
def warehouse(new_home: Path) -> Warehouse:
    """A warehouse of this test's own, with reference data and nothing else."""
    return Warehouse.open(new_home)


@pytest.fixture
def shared(
    blank: Path, tmp_path: Path, shared_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Warehouse:
    """A warehouse on this test's own shared store; every `Warehouse.open` in this process opens it."""
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "machine"))
    copy(Warehouse(LocalStore(blank)), store_at())
    return Warehouse.open()
