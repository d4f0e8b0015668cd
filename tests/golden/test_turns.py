"""A run that is killed at each turn of its conversations resumes at that turn and repeats no request."""

from __future__ import annotations

import pytest

from tests.golden.conftest import Homes
from tests.golden.harness import differences, metric_rows, net, run, run_and_die, turns_sent
from tests.golden.test_contract import assert_nothing_twice

pytestmark = [pytest.mark.slow, pytest.mark.heavy, pytest.mark.usefixtures("prefect")]


def test_a_run_killed_at_each_turn_sends_nothing_twice(fresh: Homes, undisturbed: Homes) -> None:
    home, turns = fresh("explication"), net("explication").params["max_turns"]
    for turn in range(turns):
        run_and_die("explication", home, "turns_sent", turn)
        assert turns_sent(home) >= turn
    run("explication", home)
    assert_nothing_twice(home, "explication")
    expected = metric_rows(undisturbed("explication"), "explication")
    assert differences(expected, metric_rows(home, "explication")) == []
