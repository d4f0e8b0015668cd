"""How often a run writes the warehouse's file, every write of which copies it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows import runs
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.plan import Wanted
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine
from warehouse import Warehouse

ASKED = "SELECT run_id, topic, label FROM run_request ORDER BY ALL"


def wanted(model: str, seed: int, label: str = "items") -> Wanted:
    """A request of a model's round."""
    engine = Engine.of(EngineSpec(name=model, kind="fake", model=model))
    prompts = (Prompt([{"role": "user", "content": "?"}]),)
    request = Prompts(prompts=prompts, sampling=Sampling(seed=seed), topic="t", label=label)
    return Wanted(model, request, engine)


def test_a_round_that_asks_nothing_new_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(tmp_path))
    warehouse, ids = Warehouse.open(), {"a": "run-a", "b": "run-b"}
    first = [wanted("a", 1), wanted("b", 1)]
    runs.add_requests(ids, first)
    assert warehouse.query(ASKED).rows() == [("run-a", "t", "items"), ("run-b", "t", "items")]
    version = warehouse.path.stat().st_ino
    runs.add_requests(ids, first)
    assert warehouse.path.stat().st_ino == version
    runs.add_requests(ids, [*first, wanted("b", 2, "judge")])
    assert warehouse.query(ASKED).rows()[-1] == ("run-b", "t", "judge")
    assert warehouse.path.stat().st_ino != version
