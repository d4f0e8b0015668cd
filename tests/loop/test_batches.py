"""Completions from a job of the Batch API are stored, counted and shown like any others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tasks.engines.protocols import EngineError, Sampling
from tasks.engines.served import openai_batch
from tasks.engines.specs import EngineSpec
from tasks.loop import progress, steps
from tasks.loop.budget import Budget, BudgetReached, Meter
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tests.engines.batch_server import BatchServer, Line, answered, refused
from tests.loop import completing
from warehouse import CorruptPart, Warehouse, run_checks

PROMPTS = [Prompt([{"role": "user", "content": text}]) for text in "abcde"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setattr(openai_batch, "FIRST_POLL_S", 0.01)
    server = BatchServer()
    yield server
    server.close()


@pytest.fixture
def served(server: BatchServer) -> EngineSpec:
    options = {"batch": 100, "max_retries": 0}
    return EngineSpec(name="served", kind="openai", model="m", base_url=server.url, options=options)


def complete(spec: EngineSpec, meter: Meter | None = None, occasion: str = "") -> list[Completion]:
    """Complete the prompts of one request."""
    engine = replace(Engine.of(spec), occasion=occasion)
    return completing.complete(PROMPTS, engine, Sampling(max_tokens=9), ("run", "served"), "label", 2, meter)


def test_a_part_is_one_batch_job_and_counts_its_tokens(
    warehouse: Warehouse, server: BatchServer, served: EngineSpec
) -> None:
    meter, reports = Meter(Budget(max_tokens=50_000)), list[tuple[str, int, int]]()
    with progress.listen(lambda *report: reports.append(report)):
        completions = complete(served, meter)
    assert [c.text for c in completions] == [f"re: {text}" for text in "abcde"]
    assert len(server.sent) == 1
    assert meter.tokens == 5 * 7
    assert sum(n for _, n, _ in reports) == 5
    assert len(reports) > 1  # progress is also reported while the batch is awaited
    assert complete(served) == completions
    assert len(server.sent) == 1
    assert run_checks(warehouse)["n_violations"].sum() == 0
    complete(served, occasion="2026-w48")
    assert len(server.sent) == 2


def test_a_batch_over_the_budget_is_not_sent(
    warehouse: Warehouse, server: BatchServer, served: EngineSpec
) -> None:
    with pytest.raises(BudgetReached, match="the next 5 answers"):
        complete(served, Meter(Budget(max_tokens=100)))
    assert not server.calls


def test_completions_of_a_partly_failed_job_are_stored_and_the_rest_is_sent(
    warehouse: Warehouse, server: BatchServer, served: EngineSpec
) -> None:
    def results(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        return [answered(line) for line in lines[:3]], [refused(line) for line in lines[3:]]

    server.results, meter = results, Meter(Budget())
    with pytest.raises(EngineError, match="500: broken"):
        complete(served, meter)
    assert warehouse.query("SELECT count(*) FROM response").item() == 3
    assert meter.tokens == 3 * 7
    server.results = lambda lines: ([answered(line) for line in lines], [])
    assert [c.text for c in complete(served, meter)] == [f"re: {text}" for text in "abcde"]
    assert [len(lines) for lines in server.sent] == [5, 2]
    assert meter.tokens == 5 * 7


def test_completions_that_were_not_stored_are_fetched_again_and_not_sent(
    warehouse: Warehouse, server: BatchServer, served: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "store_part", killed)
        with pytest.raises(KeyboardInterrupt):
            complete(served)
    assert warehouse.query("SELECT count(*) FROM response").item() == 0
    assert [c.text for c in complete(served)] == [f"re: {text}" for text in "abcde"]
    assert len(server.sent) == 1


def test_a_damaged_part_is_fetched_again_and_not_sent(
    warehouse: Warehouse, server: BatchServer, served: EngineSpec
) -> None:
    """The part's answers are paid for, and the server still has them."""
    completions = complete(served)
    for part in (warehouse.home / "parts" / "response").glob("[!_]*.parquet"):
        part.write_bytes(b"PAR1" + bytes(part.stat().st_size))
    with pytest.raises(CorruptPart) as error:
        complete(served)
    steps.set_corrupt_aside(error.value)
    assert complete(served) == completions
    assert len(server.sent) == 1
