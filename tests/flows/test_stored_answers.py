"""A part is stored in the warehouse from a loaded engine: whole, cut short, and with its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.protocols import EngineError, Generation, Sampling, Unfinished
from tasks.engines.specs import EngineSpec
from tasks.loop import progress, steps
from tasks.loop.budget import Budget, BudgetReached, Meter
from tasks.loop.plan import Wanted, Work
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine
from warehouse import Warehouse

FAKE = Engine.of(EngineSpec(name="m", kind="fake", model="m"))
PROMPTS = tuple(Prompt([{"role": "user", "content": text}]) for text in ("one", "two", "three"))
REQUEST = Prompts(prompts=PROMPTS, sampling=Sampling(max_tokens=5), label="items")
WANTED = Wanted("m", REQUEST, FAKE)
WORK = Work.of(WANTED, REQUEST.units)
RUN = ("run", "m")


class Stops(Prompts):
    """A request whose engine answers one unit and fails on the others."""

    def compute(self, engine: Any, units: Sequence[str], progress: Callable[[int], None]) -> Any:
        whole = super().compute(engine, units[:1], progress)
        raise Unfinished("the line is down", (tuple(units[:1]), whole))


def unanswered() -> list[str]:
    return sorted(steps.unanswered([WANTED])[REQUEST.kind]["unit"])


def test_part_is_stored_with_its_request_and_run(warehouse: Warehouse) -> None:
    assert unanswered() == sorted(REQUEST.units)
    heard: list[tuple[str, int, int]] = []
    with progress.listen(lambda *report: heard.append(report)):
        steps.compute_answers(WORK, RUN, Meter(Budget()), "m", 3)
    assert {label for label, _, _ in heard} == {"m"}
    assert sum(n for _, n, _ in heard) == 3
    assert unanswered() == []
    rows = warehouse.query("SELECT DISTINCT request_hash, run_id, model FROM response").rows()
    assert rows == [(WANTED.request_hash, "run", "m")]
    stored = REQUEST.decode(steps.stored(REQUEST.kind, WANTED.request_hash, REQUEST.units, REQUEST.columns))
    assert set(stored) == set(REQUEST.units)


def test_answers_before_a_failure_are_stored_and_the_failure_is_raised(warehouse: Warehouse) -> None:
    request = Stops(prompts=PROMPTS, sampling=Sampling(max_tokens=5), label="items")
    work = Work.of(Wanted("m", request, FAKE), request.units)
    with pytest.raises(EngineError, match="the line is down"):
        steps.compute_answers(work, RUN, Meter(Budget()), "m", 3)
    assert unanswered() == sorted(REQUEST.units[1:])
    assert warehouse.query("SELECT count(*) FROM response").item() == 1


def test_work_above_the_budget_loads_no_engine(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "load_engine", lambda *_: pytest.fail("an engine is loaded"))
    with pytest.raises(BudgetReached):
        steps.compute_answers(WORK, RUN, Meter(Budget(1, None)), "m", 3)
    assert unanswered() == sorted(REQUEST.units)


def test_users_engine_specs_come_first(warehouse: Warehouse, home: Path) -> None:
    assert steps.spec_of("fake-a").kind == "fake"
    (home / "engines" / "mine.toml").write_text('kind = "fake"\nmodel = "another"\n')
    assert steps.engine_of("mine", "candidate").model == "another"
    assert steps.engine_of("embedded:all-minilm-l6-v2", "embedder").kind == "embedder"


def test_requests_without_cost_have_no_usage() -> None:
    assert REQUEST.at_most(REQUEST.units)
    free = super(Prompts, REQUEST)
    assert free.at_most(REQUEST.units) == []
    assert free.used(pytest.importorskip("polars").DataFrame()) == []
    assert all(isinstance(each, Generation) for each in REQUEST.at_most(REQUEST.units))
