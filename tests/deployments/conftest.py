"""A warehouse for the commands that read one, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse import Warehouse


@pytest.fixture
def warehouse(warehouse: Warehouse, home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """This test's own warehouse; commands start in its folder."""
    monkeypatch.chdir(home)
    return warehouse
