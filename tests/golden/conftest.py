"""Fixtures of the golden and the contract tests: new homes, and one undisturbed run of each evaluation."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect.settings import PREFECT_LOGGING_LEVEL, temporary_settings

from deployments.serve.server import pointed_at
from tests.engines.served import Scripted
from tests.golden import served
from tests.golden.harness import new_home, run

Homes = Callable[[str], Path]
"""From an evaluation to a home."""

_number = itertools.count()


@pytest.fixture
def prefect(prefect_api: str) -> Iterator[None]:
    """Flows of this process talk to the tests' own server."""
    with pointed_at(prefect_api), temporary_settings({PREFECT_LOGGING_LEVEL: "CRITICAL"}):
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Scripted]:
    """Where the served model is."""
    server = served.start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def fresh(blank: Path, server: Scripted) -> Homes:
    """Every call: a new home for an evaluation."""
    return lambda evaluation: new_home(blank, f"{evaluation}-{next(_number)}", evaluation, server.url)


@pytest.fixture(scope="session")
def undisturbed(fresh: Homes) -> Homes:
    """The home of an evaluation's undisturbed run; do not write to it."""
    homes: dict[str, Path] = {}

    def home(evaluation: str) -> Path:
        if evaluation not in homes:
            folder = fresh(evaluation)
            run(evaluation, folder)
            homes[evaluation] = folder
        return homes[evaluation]

    return home


@pytest.fixture
def finished(undisturbed: Homes) -> Homes:
    """Every call: a copy of the undisturbed run's home."""

    def copy(evaluation: str) -> Path:
        home = undisturbed(evaluation)
        return Path(shutil.copytree(home, home.with_name(f"{home.name}-{next(_number)}")))

    return copy
