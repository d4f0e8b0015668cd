"""Prompts of several requests in one call of an engine, each with its own seed and schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tasks.engines.copies import ReplicaLost
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import (
    EngineError,
    Generation,
    Sampling,
    TextPair,
    Unfinished,
    each_number,
    each_schema,
)
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Completions
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.items import OptionScores, Question
from tasks.loop.pairs import Document, Pairs
from tasks.loop.plan import Plan, Wanted, lay_out, name_of
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine, part_name
from warehouse import Warehouse, register_orphans, run_checks

RUN = ("run", "m")
COLOUR = {"type": "string", "enum": ["red", "green"]}
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"colour": COLOUR}}
SPEC = EngineSpec(name="judge", kind="fake", model="judge")


def request(seed: int, n: int = 3, schema: Any = None, **fields: Any) -> Prompts:
    talks = [[{"role": "user", "content": f"{k}?"}] for k in range(n)]
    sampling = Sampling(temperature=1.0, seed=seed, max_tokens=10)
    prompts = [Prompt(talk, schema) for talk in talks]
    return Prompts(prompts=prompts, sampling=sampling, **{"batch": 4, **fields})


REQUESTS = [request(1), request(2, schema=SCHEMA), request(3, 2)]


def planned(spec: EngineSpec, requests: Sequence[Prompts] = REQUESTS) -> Plan:
    wanted = [Wanted("m", each, Engine.of(spec)) for each in requests]
    return lay_out(wanted, steps.unanswered(wanted))


def answers(spec: EngineSpec, requests: Sequence[Prompts] = REQUESTS) -> list[Mapping[str, Completion]]:
    read = Completions(Engine.of(spec), {}, steps.stored)
    return [read(each) for each in requests]


def work_off(plan: Plan) -> None:
    for line in plan.lines:
        for work in line.work:
            steps.compute_answers(work, RUN, Meter(Budget()), "label", line.left)


def test_prompts_of_several_requests_share_a_batch_and_are_stored_apart(
    warehouse: Warehouse, spec: EngineSpec, sent: list[list[str]]
) -> None:
    work_off(planned(spec))
    assert [len(call) for call in sent] == [4, 4]
    together = answers(spec)
    assert [len(own) for own in together] == [3, 3, 2]
    assert all(c.text.startswith("{") for c in together[1].values())
    plain = FakeEngine(spec)
    alone = [
        {p.id: plain.generate([p.conversation], each.sampling_of(p.id), p.schema)[0] for p in each.prompts}
        for each in REQUESTS
    ]
    for own, generated in zip(together, alone, strict=True):
        expected = {name: (g.text, g.seed) for name, g in generated.items()}
        assert {name: (c.text, c.seed) for name, c in own.items()} == expected
    assert planned(spec).left == 0
    assert run_checks(warehouse)["n_violations"].sum() == 0
    hashes = {each.hash(Engine.of(spec)) for each in REQUESTS}
    assert set(warehouse.query("SELECT request_hash FROM response")["request_hash"]) == hashes


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_completions_do_not_depend_on_batches(warehouse: Warehouse, spec: EngineSpec, batch: int) -> None:
    other = spec.model_copy(update={"name": "other"})  # the same engine under another name
    requests = [replace(each, batch=batch) for each in REQUESTS]
    work_off(planned(other, requests))
    assert answers(other, requests) == answers(spec)
    texts = [[c.text for c in own.values()] for own in answers(spec)]
    assert len({text for own in texts for text in own if not text.startswith("{")}) > 1


@pytest.mark.parametrize("kind", ["options", "pairs"])
def test_texts_with_a_common_beginning_are_scored_in_one_batch(
    warehouse: Warehouse, spec: EngineSpec, kind: str
) -> None:
    def request(option: str) -> OptionScores | Pairs:
        texts = [f"{k} is?" for k in "dacb"]
        if kind == "options":
            return OptionScores(about=["m"], batch=4, questions=[Question(t, (option, "z")) for t in texts])
        return Pairs(batch=4, documents=[Document((TextPair(text, option),)) for text in texts])

    requests = [request("own"), request("of another")]
    wanted = [Wanted("m", each, Engine.of(spec)) for each in requests]
    plan = lay_out(wanted, steps.unanswered(wanted))
    (line,) = plan.lines
    near = [
        [(p.wanted.request, p.wanted.request.near(unit)) for p in work.pieces for unit in p.units]
        for work in line.work
    ]
    assert near == [[(each, f"{k} is?") for each in requests for k in pair] for pair in ("ab", "cd")]
    work_off(plan)
    read = Completions(Engine.of(spec), {}, steps.stored)
    assert [len(read(each)) for each in requests] == [4, 4]
    assert lay_out(wanted, steps.unanswered(wanted)).left == 0


def test_an_unregistered_part_of_several_requests_is_registered(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "register", lambda self, units: None)  # killed before
        work_off(planned(spec))
    assert planned(spec).left == 2
    assert len(register_orphans(warehouse, "response").registered) == 2
    assert planned(spec).left == 0


def test_completions_before_a_failure_are_stored_under_each_request(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: FakeEngine, talks: Sequence[Any], *more: Any) -> Any:
        raise Unfinished("down", {1: Generation("one", "stop", 1, 1), 3: Generation("three", "stop", 1, 1)})

    monkeypatch.setattr(FakeEngine, "generate", fails)
    (line,) = planned(spec).lines
    with pytest.raises(EngineError, match="down"):
        steps.compute_answers(line.work[0], RUN, meter := Meter(Budget()), "label", line.left)
    assert [[c.text for c in own.values()] for own in answers(spec)] == [["one"], ["three"], []]
    assert meter.tokens == 4
    (line,) = planned(spec).lines
    assert line.left == 6


def test_a_call_is_repeated_after_a_replica_died(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate, calls = FakeEngine.generate, list[int]()

    def dies_once(self: FakeEngine, talks: Sequence[Any], *more: Any) -> Any:
        calls.append(len(talks))
        if len(calls) == 1:
            raise ReplicaLost("it died")
        return generate(self, talks, *more)

    monkeypatch.setattr(FakeEngine, "generate", dies_once)
    (line,) = planned(spec).lines
    steps.retried_if_lost(
        lambda: steps.compute_answers(line.work[0], RUN, Meter(Budget()), "label", line.left)
    )
    assert calls == [4, 4]


def test_a_part_is_named_by_its_requests_and_units(spec: EngineSpec) -> None:
    of_one_request = name_of([("a", "2"), ("a", "1")])
    assert of_one_request == part_name("a", ["1", "2"])
    names = {name_of([("a", "1"), ("b", "2")]), name_of([("a", "2"), ("b", "1")]), name_of([("a", "1")])}
    assert len(names) == 3
    assert name_of([("a", "1"), ("b", "2")]) == name_of([("b", "2"), ("a", "1")])


def test_a_batch_job_holds_prompts_of_one_request(warehouse: Warehouse) -> None:
    """A job that was paid for is found again by the hash of its request."""
    options = {"batch": 100}
    served = EngineSpec(name="s", kind="openai", model="m", base_url="http://127.0.0.1:9/v1", options=options)
    alike = [request(1, schema=SCHEMA), request(2), request(1)]
    (line,) = planned(served, alike).lines
    assert [(len(work.pieces), len(work.units)) for work in line.work] == [(2, 6), (1, 3)]
    (line,) = planned(served.model_copy(update={"options": {}}), alike).lines
    assert [len(work.units) for work in line.work] == [4, 4, 1]


def test_one_schema_or_number_applies_to_all_prompts_and_a_list_to_each_in_turn() -> None:
    assert each_schema(None, 2) == [None, None]
    assert each_schema(SCHEMA, 2) == [SCHEMA, SCHEMA]
    assert each_schema([SCHEMA, None], 2) == [SCHEMA, None]
    assert each_number(3, 2) == each_number([3, 3], 2) == [3, 3]
    with pytest.raises(ValueError, match="1 schemas for 2 conversations"):
        each_schema([None], 2)


def test_decoded_completions_are_not_read_again() -> None:
    reads: list[list[str]] = []
    own = request(1)

    def read(kind: str, name: str, units: Sequence[str], columns: Sequence[str]) -> Any:
        reads.append(list(units))
        frame = own.compute(FakeEngine(SPEC), own.units[: len(reads)], lambda n: None)
        return frame.filter(frame["item"].is_in(list(units))).select(columns)

    completions = Completions(Engine.of(SPEC), {}, read, {})
    assert [len(completions(own)) for _ in range(4)] == [1, 2, 3, 3]
    assert [len(units) for units in reads] == [3, 2, 1]
    assert list(completions(own)) == list(own.units)
