"""On a shared store, too, all numbers equal the recorded ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.served import Scripted
from tests.golden.harness import EVALUATIONS, assert_recorded, new_home_of_shared_store, run

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_numbers_on_a_shared_store_equal_the_recorded_ones(
    blank: Path,
    tmp_path: Path,
    server: Scripted,
    shared_environment: dict[str, str],
    evaluation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    home = new_home_of_shared_store(blank, tmp_path, f"{evaluation}-shared", evaluation, server.url)
    run(evaluation, home)
    assert_recorded(home, evaluation)
    assert not list((home / "parts").glob("*/[!_]*.parquet"))
