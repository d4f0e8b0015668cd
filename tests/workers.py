"""The distribution of tests over workers of ``pytest -n`` and their order; a plugin of tests/conftest.py.

A file stays in one worker, as its fixtures are costly. Files that share a costly session fixture stay in one
worker together, so that it is made once. They come first and files of slow tests next, so that no long test
starts when the other worker is about to end.

A worker that dies, or that hangs for ``faulthandler_timeout`` seconds and prints where, is replaced once. Its
test runs again in the new one; the summary says so, and a second time is a failure.

Groups are read from the files, not from marks: pytest 9.2 loses the group names that xdist 3.8 appends to
test names.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).resolve().parent.parent
SHARED = {
    "a Prefect server": r"\b(prefect_api|culturemeter_process|culturemeter): (str|Command)\b",
    "a run of each evaluation": r"\b(undisturbed|finished|fresh): Homes\b",
    "small runs of all": r"\b(six|all)_runs: Warehouse\b",
}
"""Group -> pattern of test parameters that are the costliest session fixtures."""


@cache
def group_of(path: str) -> str | None:
    """Return the group of a test file by the first costly fixture it uses, or None."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return next((group for group, parameter in SHARED.items() if re.search(parameter, text)), None)


class ByFile(LoadScopeScheduling):
    """A scheduler of groups of files that share a fixture, and of single files."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return group_of(path) or path

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test at which a worker died; what it had not finished is sent again.

        xdist 3.8 sends its finished files again too, without tests. A worker that gets such a file waits for
        ever: it keeps its last test until the next one comes.
        """
        own = self.assigned_work[node]
        self.assigned_work[node] = {scope: tests for scope, tests in own.items() if not all(tests.values())}
        return super().remove_node(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


_died: set[str] = set()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Count a test whose worker died as skipped the first time: the scheduler sends it again."""
    if crashitem not in _died:
        _died.add(crashitem)
        report.outcome = "skipped"
        report.longrepr = (
            crashitem.partition("::")[0],
            None,
            f"{crashitem}: its worker hung or died; it ran again",
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put groups first and slow files next, with ``loadgroup`` and without --seed."""
    if not getattr(config.option, "loadgroup", False) or config.getoption("seed") is not None:
        return
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    groups = [*SHARED]

    def place(item: pytest.Item) -> tuple[int, bool]:
        group = group_of(item.path.relative_to(ROOT).as_posix())
        return (groups.index(group), False) if group else (len(groups), item.path not in slow)

    items.sort(key=place)
