"""A run of conversations that is killed at each turn goes on inside them, and sends nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, environment
from tests.golden.conftest import Homes
from tests.golden.harness import differences, metric_rows, net, run, stored, write_engine
from tests.golden.test_contract import assert_nothing_twice

pytestmark = [pytest.mark.slow, pytest.mark.heavy, pytest.mark.usefixtures("prefect")]

PATIENCE_S = 180.0


def turns_told(home: Path) -> int:
    """The longest history that a recommender or user was sent, in turns."""
    sent = stored(home, "response", ["conversation"])["conversation"].to_list()
    histories = (json.loads(conversation) for conversation in sent)
    talks = [h for h in histories if h[0]["content"].startswith(("You help", "You play"))]
    return max(
        (sum(m["content"] != "(The user has opened the chat.)" for m in h[1:]) for h in talks), default=-1
    )


def test_killed_at_each_turn(fresh: Homes, undisturbed: Homes, prefect_api: str) -> None:
    home, turns = fresh("explication"), net("explication").params["max_turns"]
    for name in ("fake-a", "fake-b", "fake-j"):
        write_engine(home, name, delay=0.2)
    for turn in range(turns):
        with (home / "killed.log").open("wb") as out:
            command = [sys.executable, "-m", "tests.golden.harness", "explication"]
            process = subprocess.Popen(
                command, env=environment(home, prefect_api), cwd=REPOSITORY, stdout=out, stderr=out
            )
        deadline = time.monotonic() + PATIENCE_S
        while turns_told(home) < turn and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        assert process.wait() == -9, (home / "killed.log").read_text()
        assert turns_told(home) >= turn
    for name in ("fake-a", "fake-b", "fake-j"):
        write_engine(home, name)
    run("explication", home)
    assert_nothing_twice(home, "explication")
    assert (
        differences(metric_rows(undisturbed("explication"), "explication"), metric_rows(home, "explication"))
        == []
    )
