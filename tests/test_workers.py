"""A worker of the tests dies: its unfinished files are sent again, and no others."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from tests import workers


def test_only_unfinished_files_of_a_worker_that_died_are_sent_again() -> None:
    """xdist alone would send ``done`` too, and the worker that gets it would wait for ever."""
    scheduler: Any = workers.ByFile.__new__(workers.ByFile)
    scheduler.workqueue = OrderedDict()
    scheduler.assigned_work = {
        "dead": {"done": {"done::a": True}, "open": {"open::a": True, "open::b": False}}
    }
    assert scheduler.remove_node("dead") == "open::b"
    assert list(scheduler.workqueue) == ["open"]


def test_a_test_whose_worker_died_runs_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_died", set())
    outcomes = []
    for _ in range(2):
        report: Any = pytest.TestReport("f::a", ("f", None, "a"), {}, "failed", "died", "???")
        workers.pytest_handlecrashitem("f::a", report)
        outcomes.append(report.outcome)
    assert outcomes == ["skipped", "failed"]
