"""What is asked on another occasion is asked anew, and what was answered before stays."""

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


def on(
    occasion: str, texts: str, spec: EngineSpec, run: str, batch: int = 2, budget: Budget | None = None
) -> list[Completion]:
    """What the loop does with one request: answer what is missing, read everything back."""
    engine, meter = replace(Engine.of(spec), occasion=occasion), Meter(budget or Budget())
    return complete(prompts(texts), engine, GREEDY, (run, "candidate"), "label", batch, meter)


def second_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the fake engine completes otherwise."""
    generate = FakeEngine.generate

    def other(self: FakeEngine, *given: Any) -> list[Generation]:
        return [Generation("second", "stop", 1, 1, 0) for _ in generate(self, *given)]

    monkeypatch.setattr(FakeEngine, "generate", other)


@pytest.mark.parametrize("batch", [2, pytest.param(16, marks=pytest.mark.heavy)])
def test_another_occasion_asks_anew_and_replaces_nothing(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    first = on("", "abcde", spec, "run-1")
    asked.clear()
    second_mind(monkeypatch)
    again = on("2026-w48", "abca", spec, "run-2", batch)
    assert sorted(chain(*asked)) == ["a", "b", "c"]  # each once
    assert [c.text for c in again] == ["second"] * 4
    asked.clear()
    assert on("", "abcde", spec, "run-1", batch) == first
    assert on("2026-w48", "abc", spec, "run-2", batch) == again[:3]
    assert complete(prompts("abcde"), Engine.of(spec), GREEDY, ("run-1", "candidate"), "label") == first
    assert not asked
    rows = warehouse.query("SELECT text, run_id FROM response ORDER BY run_id, text")
    assert rows["run_id"].to_list() == ["run-1"] * 5 + ["run-2"] * 3
    assert rows["text"].to_list() == sorted(c.text for c in first) + ["second"] * 3
    assert warehouse.query("SELECT count(DISTINCT request_hash) FROM response").item() == 2
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert verify_parts(warehouse).is_empty()


@pytest.mark.heavy
def test_an_occasion_that_was_cut_short_goes_on_where_it_stopped(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = on("", "abc", spec, "run-1")
    second_mind(monkeypatch)
    with pytest.raises(BudgetReached):
        on("again", "abc", spec, "run-2", batch=1, budget=Budget(max_tokens=MOST))
    assert warehouse.query("SELECT count(*) FROM response WHERE run_id = 'run-2'").item() == 1
    asked.clear()
    assert [c.text for c in on("again", "abc", spec, "run-2", batch=1)] == ["second"] * 3
    assert len(list(chain(*asked))) == 2
    assert on("", "abc", spec, "run-1") == first


def test_parts_of_two_occasions_are_told_apart_when_taken_over(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    first, again = on("", "ab", spec, "run-1"), on("again", "ab", spec, "run-2")
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base")
    assert len(register_orphans(warehouse, "response").registered) == 2
    asked.clear()
    assert (on("", "ab", spec, "run-1"), on("again", "ab", spec, "run-2")) == (first, again)
    assert not asked
