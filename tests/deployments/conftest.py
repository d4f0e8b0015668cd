"""A warehouse for the commands that read one, in this process, and a site that is published once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.publish.data import SiteAbout
from deployments.publish.site import publish
from tests.deployments.a_site import fill
from warehouse import Warehouse

ABOUT = SiteAbout("Our models", "CC-BY-4.0", "Our lab", url="https://example.org/models")


@pytest.fixture
def warehouse(warehouse: Warehouse, home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """This test's own warehouse; commands start in its folder."""
    monkeypatch.chdir(home)
    return warehouse


@pytest.fixture(scope="session")
def filled(copied_home: Callable[[], Path]) -> Warehouse:
    """Runs of two evaluations; nothing may write to it."""
    warehouse = Warehouse.open(copied_home())
    fill(warehouse)
    return warehouse


@pytest.fixture(scope="session")
def published_site(filled: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of ``filled``, shared because drawing takes seconds; tests that change it use a copy."""
    folder = tmp_path_factory.mktemp("sites") / "site"
    publish(filled, folder, ABOUT)
    return folder
