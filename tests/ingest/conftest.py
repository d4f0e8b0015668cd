"""A warehouse per test, a local server with hand-made pages, sessions that may reach it, and rows to read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scrapers import wikipedia
from scrapers.http import PoliteSession
from tasks.ingest import steps
from tests.scrapers.hand_made import PAGES
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply, running
from warehouse import Warehouse

CURRENCIES, RELIGIONS = "/currencies", "/religions"
Serve = Callable[..., None]


@pytest.fixture
def warehouse(blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse that the ingest works on."""
    shutil.copytree(blank, tmp_path / "home")
    for name in [name for name in os.environ if name.startswith("CULTUREMETER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "home"))
    return Warehouse.open(tmp_path / "home")


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    """A server in place of Wikipedia; sessions may reach it, without pauses and retries."""
    polite = partial(PoliteSession, pause_s=0, allow_private=True, retries=0)
    monkeypatch.setattr(steps, "PoliteSession", polite)
    with running() as server:
        monkeypatch.setattr(wikipedia, "CURRENCIES_URL", server.url(CURRENCIES))
        monkeypatch.setattr(wikipedia, "RELIGIONS_URL", server.url(RELIGIONS))
        yield server


@pytest.fixture
def serve(web: MisbehavingServer) -> Serve:
    """A function that sets the hand-made pages of the server, by name."""

    def answer(**pages: str) -> None:
        for path, name in pages.items():
            web.replies[f"/{path}"] = [Reply(body=PAGES[name])]

    return answer


def attempts(warehouse: Warehouse) -> list[dict[str, Any]]:
    """Return the rows of the table ``ingest``, oldest first."""
    return warehouse.query("SELECT * FROM ingest ORDER BY started_at, source").to_dicts()


def items(warehouse: Warehouse, item_list: str) -> list[dict[str, Any]]:
    """Return the current items of a list."""
    query = "SELECT item, aliases, countries, ingredients, code FROM current_item WHERE item_list = ?"
    return warehouse.query(f"{query} ORDER BY position", [item_list]).to_dicts()


def dishes(warehouse: Warehouse, dish_set: str) -> list[dict[str, Any]]:
    """Return the rows of a loaded dish set."""
    query = "SELECT * FROM dish WHERE dish_set = ? ORDER BY url, language"
    return warehouse.query(query, [dish_set]).to_dicts()
