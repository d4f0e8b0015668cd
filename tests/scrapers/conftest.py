"""A misbehaving server, sessions that may reach it, and a clock whose sleeps take no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scrapers import http
from tests.scrapers.misbehaving_server import MisbehavingServer, running

OpenSession = Callable[..., http.PoliteSession]


class Clock:
    """A clock that advances only by sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return 1000.0 + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that sessions use."""
    clock = Clock()
    monkeypatch.setattr(http, "time", clock)
    return clock


@pytest.fixture
def web() -> Iterator[MisbehavingServer]:
    """A server without pages; tests fill ``replies``."""
    with running() as server:
        yield server


@pytest.fixture
def open_session(tmp_path: Path) -> Iterator[OpenSession]:
    """Open a session that may reach this machine, without pauses; all sessions share one cache."""
    with ExitStack() as sessions:

        def opened(**options: Any) -> http.PoliteSession:
            agent = http.user_agent("someone@example.org")
            allowed = {"pause_s": 0, "allow_private": True, **options}
            return sessions.enter_context(http.PoliteSession(agent, tmp_path / "cache", **allowed))

        yield opened
