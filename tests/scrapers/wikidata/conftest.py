"""Servers that several test files use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scrapers.wikidata.servers import Endpoint, oxigraph


@pytest.fixture(scope="session")
def dishes_url() -> Iterator[str]:
    """oxigraph with dishes.ttl."""
    with oxigraph((Path(__file__).parent / "dishes.ttl").read_bytes()) as url:
        yield url


@pytest.fixture
def server() -> Iterator[Endpoint]:
    """An endpoint with scripted answers."""
    server = Endpoint()
    yield server
    server.close()
