"""Another occasion requests new completions and keeps those of earlier ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.budget import Budget, BudgetReached, Meter
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tests.loop.completing import complete
from warehouse import Warehouse, register_orphans, run_checks, verify_parts

Calls = list[list[str]]
GREEDY = Sampling()
MOST = 17 + GREEDY.max_tokens  # of one completion, as the meter estimates it; the second mind uses 2


def prompts(texts: str) -> list[Prompt]:
    return [Prompt([{"role": "user", "content": text}]) for text in texts]


def complete_on(
    occasion: str, texts: str, spec: EngineSpec, run: str, batch: int = 2, budget: Budget | None = None
) -> list[Completion]:
    """Complete the prompts of one occasion."""
    engine, meter = replace(Engine.of(spec), occasion=occasion), Meter(budget or Budget())
    return complete(prompts(texts), engine, GREEDY, (run, "candidate"), "label", batch, meter)


def change_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every further completion of the fake engine "second"."""
    generate = FakeEngine.generate

    def other(self: FakeEngine, *arguments: Any) -> list[Generation]:
        return [Generation("second", "stop", 1, 1, 0) for _ in generate(self, *arguments)]

    monkeypatch.setattr(FakeEngine, "generate", other)


@pytest.mark.parametrize("batch", [2, pytest.param(16, marks=pytest.mark.heavy)])
def test_another_occasion_requests_new_completions_and_replaces_none(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    first = complete_on("", "abcde", spec, "run-1")
    sent.clear()
    change_completions(monkeypatch)
    again = complete_on("2026-w48", "abca", spec, "run-2", batch)
    assert sorted(chain(*sent)) == ["a", "b", "c"]  # each once
    assert [c.text for c in again] == ["second"] * 4
    sent.clear()
    assert complete_on("", "abcde", spec, "run-1", batch) == first
    assert complete_on("2026-w48", "abc", spec, "run-2", batch) == again[:3]
    assert complete(prompts("abcde"), Engine.of(spec), GREEDY, ("run-1", "candidate"), "label") == first
    assert not sent
    rows = warehouse.query("SELECT text, run_id FROM response ORDER BY run_id, text")
    assert rows["run_id"].to_list() == ["run-1"] * 5 + ["run-2"] * 3
    assert rows["text"].to_list() == sorted(c.text for c in first) + ["second"] * 3
    assert warehouse.query("SELECT count(DISTINCT request_hash) FROM response").item() == 2
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert verify_parts(warehouse).is_empty()


@pytest.mark.heavy
def test_an_interrupted_occasion_is_completed_by_the_next_run(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = complete_on("", "abc", spec, "run-1")
    change_completions(monkeypatch)
    with pytest.raises(BudgetReached):
        complete_on("again", "abc", spec, "run-2", batch=1, budget=Budget(max_tokens=MOST))
    assert warehouse.query("SELECT count(*) FROM response WHERE run_id = 'run-2'").item() == 1
    sent.clear()
    assert [c.text for c in complete_on("again", "abc", spec, "run-2", batch=1)] == ["second"] * 3
    assert len(list(chain(*sent))) == 2
    assert complete_on("", "abc", spec, "run-1") == first


def test_unregistered_parts_of_two_occasions_are_registered_apart(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    first, again = complete_on("", "ab", spec, "run-1"), complete_on("again", "ab", spec, "run-2")
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base")
    assert len(register_orphans(warehouse, "response").registered) == 2
    sent.clear()
    assert (complete_on("", "ab", spec, "run-1"), complete_on("again", "ab", spec, "run-2")) == (first, again)
    assert not sent
