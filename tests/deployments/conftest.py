"""A warehouse for the commands that read one, in this process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warehouse import Warehouse


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the shipped data, and nothing judged."""
    home = tmp_path_factory.mktemp("judge") / "home"
    Warehouse.open(home)
    return home


@pytest.fixture
def warehouse(template: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """This test's own warehouse; its engines are fake-a, fake-b and slow."""
    shutil.copytree(template, home, dirs_exist_ok=True)
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    monkeypatch.chdir(home)
    return Warehouse.open(home)
