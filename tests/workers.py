"""Which worker of ``pytest -n`` gets which tests, and in which order; a plugin of tests/conftest.py.

A file stays in one worker, as its fixtures are costly. Files that share a costly fixture of the session stay
in one worker together, so that there is one of it. These go first and files of slow tests next: what is long
does not begin when the other worker is about to end.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

SHARED = ("prefect_api", "undisturbed", "all_runs")
"""Fixtures of the session that take the longest to make. A file with several goes by the first."""


class ByFile(LoadGroupScheduling):
    """Groups where tests have one, else files."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return group if group != nodeid else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(tryfirst=True)  # before xdist writes the groups into the names of tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names the group of tests that share a fixture, and has the long ones go first; with ``loadgroup``."""
    if not getattr(config.option, "loadgroup", False):
        return
    fixtures: dict[str, set[str]] = defaultdict(set)
    slow: set[str] = set()
    for item in items:
        fixtures[str(item.path)].update(getattr(item, "fixturenames", ()))
        if item.get_closest_marker("slow"):
            slow.add(str(item.path))
    groups = {path: next((one for one in SHARED if one in used), None) for path, used in fixtures.items()}
    for item in items:
        if group := groups[str(item.path)]:
            item.add_marker(pytest.mark.xdist_group(group))
    if config.getoption("seed") is None:
        place = {path: (SHARED.index(group), False) if group else (len(SHARED), path not in slow)
                 for path, group in groups.items()}  # fmt: skip
        items.sort(key=lambda item: place[str(item.path)])
