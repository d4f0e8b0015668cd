"""Each prompt is sent once to an engine under one sampling; completions are stored and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop import progress, steps
from tasks.loop.budget import Budget, BudgetReached, Meter
from tasks.loop.prompts import Prompt, Prompts, prompt_seed
from tasks.loop.requests import Engine
from tests.engines.served import Scripted, completion
from tests.loop.completing import complete, plan
from warehouse import Warehouse, register_orphans, run_checks

Calls = list[list[str]]
GREEDY = Sampling()
RUN = ("run-1", "candidate")
SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}


def prompt(text: str, schema: Mapping[str, object] | None = None) -> Prompt:
    return Prompt([{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}], schema)


def texts(prompts: list[Prompt], spec: EngineSpec, sampling: Sampling = GREEDY, batch: int = 16) -> list[str]:
    return [c.text for c in complete(prompts, Engine.of(spec), sampling, RUN, "label", batch)]


def missing_parts(prompts: list[Prompt], spec: EngineSpec, batch: int = 16) -> list[tuple[str, ...]]:
    """Return the parts that are still missing."""
    return [work.units for work in plan(prompts, Engine.of(spec), GREEDY, batch).work]


def test_completions_are_in_order_and_repeated_prompts_are_sent_once(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    written = texts([prompt("b"), prompt("a"), prompt("b")], spec)
    assert written[0] == written[2] != written[1]
    assert sorted(chain(*sent)) == ["a", "b"]
    assert texts([prompt("a"), prompt("b")], spec) == [written[1], written[0]]
    assert len(list(chain(*sent))) == 2  # nothing more
    assert texts([], spec) == []


def test_a_completion_is_read_back_as_generated(warehouse: Warehouse, spec: EngineSpec, sent: Calls) -> None:
    sampling = Sampling(temperature=0.7, seed=3)
    prompts = [prompt("a"), prompt("b", SCHEMA)]
    own = {p.id: replace(sampling, seed=prompt_seed(3, p.id)) for p in prompts}
    expected = [g for p in prompts for g in FakeEngine(spec).generate([p.conversation], own[p.id], p.schema)]
    sent.clear()
    completions = complete(prompts, Engine.of(spec), sampling, RUN, "label")
    assert [Generation(*fields) for *fields, _ in map(astuple, completions)] == expected
    assert [c.option_logprobs for c in completions] == [None, None]
    assert complete(prompts, Engine.of(spec), sampling, RUN, "label") == completions
    assert len(sent) == 1  # for both schemas, and none the second time
    assert [g.prompt_tokens for g in expected] == [3, 3]  # "Be brief." and "a"


def test_only_missing_completions_are_sent(warehouse: Warehouse, spec: EngineSpec, sent: Calls) -> None:
    texts([prompt("a"), prompt("b")], spec)
    sent.clear()
    assert missing_parts([prompt("a"), prompt("b"), prompt("c")], spec) == [(prompt("c").id,)]
    texts([prompt("a"), prompt("b"), prompt("c")], spec)
    assert sent == [["c"]]
    # Another sampling, schema or engine is another question.
    texts([prompt("a")], spec, Sampling(seed=1))
    texts([prompt("a", SCHEMA)], spec)
    texts([prompt("a")], spec.model_copy(update={"model": "other"}))
    assert sent[1:] == [["a"], ["a"], ["a"]]


def test_parts_do_not_depend_on_the_order_of_prompts(warehouse: Warehouse, spec: EngineSpec) -> None:
    prompts = [prompt(str(i)) for i in range(7)]
    parts = missing_parts(prompts, spec, batch=3)
    assert [len(units) for units in parts] == [3, 3, 1]
    assert missing_parts(prompts[::-1], spec, batch=3) == parts
    assert missing_parts([*prompts, *prompts], spec, batch=3) == parts


def test_completions_are_queried_in_sql(warehouse: Warehouse, spec: EngineSpec) -> None:
    written = texts([prompt("salt?"), prompt("米？", SCHEMA)], spec)
    stored = warehouse.query("SELECT * FROM response ORDER BY conversation")
    assert sorted(stored["text"]) == sorted(written)
    assert json.loads(written[1])["verdict"] in ("yes", "no")
    assert set(stored["model"]) == {"judge"}
    assert set(stored["run_id"]) == {"run-1"}
    assert set(stored["request_hash"]) == {Prompts(prompts=[], sampling=GREEDY).hash(Engine.of(spec))}
    conversations = [json.loads(text) for text in stored["conversation"]]
    assert {s[-1]["content"] for s in conversations} == {"salt?", "米？"}
    assert "米？" in "".join(stored["conversation"])  # readable, not escaped
    assert all(n > 0 for n in stored["completion_tokens"])
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_part_holds_a_batch_and_a_crash_loses_one_batch(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate, n_left, reports = FakeEngine.generate, [2], list[tuple[str, int, int]]()

    def fails_at_the_third(*arguments: Any) -> list[Generation]:
        if not n_left[0]:
            raise EngineError("the server went away")
        n_left[0] -= 1
        return generate(*arguments)

    prompts = [prompt(str(i)) for i in range(5)]
    with monkeypatch.context() as patch, progress.listen(lambda *report: reports.append(report)):
        patch.setattr(FakeEngine, "generate", fails_at_the_third)
        with pytest.raises(EngineError, match="went away"):
            texts(prompts, spec, batch=2)
    assert reports == [("label", 2, 5), ("label", 2, 5)]
    assert warehouse.query("SELECT count(*) AS n, count(DISTINCT part) AS p FROM response").row(0) == (4, 2)
    sent.clear()
    texts(prompts, spec, batch=2)
    assert [len(call) for call in sent] == [1]


def test_an_unregistered_part_is_registered_and_not_sent(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    prompts = [prompt("a"), prompt("b")]
    texts(prompts, spec)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base")
    assert len(missing_parts(prompts, spec)) == 1
    assert len(register_orphans(warehouse, "response").registered) == 1
    assert not missing_parts(prompts, spec)


def test_an_engine_that_only_scores_is_refused(warehouse: Warehouse) -> None:
    spec = EngineSpec(name="s", kind="packed_trie", model="m", content="m", dtype="float32")
    with pytest.raises(EngineError, match="only scores"):
        texts([prompt("a")], spec)


def test_completions_before_a_server_error_are_stored(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of four prompts fails; only it and the prompts that were not sent are sent again."""
    asked_for = list[str]()
    bad = ["c"]

    def reply(_: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        text = request["messages"][-1]["content"]
        asked_for.append(text)
        return (400, {"error": {"message": "no"}}) if text in bad else (200, completion(f"said {text}"))

    server = Scripted(reply)
    options = {"max_concurrency": 1, "max_retries": 0}
    spec = EngineSpec(name="judge", kind="openai", model="m", base_url=server.url, options=options)
    prompts = [prompt("a", SCHEMA), prompt("b"), prompt("c"), prompt("d")]
    with pytest.raises(EngineError, match="rejected a request"):
        complete(prompts, Engine.of(spec), GREEDY, RUN, "label", 4, meter := Meter(Budget()))
    n_before = len(asked_for) - 1
    assert warehouse.query("SELECT count(*) FROM response").item() == n_before > 0
    assert meter.tokens == 7 * n_before
    asked_for.clear()
    bad.clear()
    assert texts(prompts, spec) == ["said a", "said b", "said c", "said d"]
    assert len(asked_for) == 4 - n_before
    assert run_checks(warehouse)["n_violations"].sum() == 0
    server.close()


def test_work_above_the_budget_loads_no_engine(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "load_engine", lambda *_: pytest.fail("an engine is loaded"))
    with pytest.raises(BudgetReached):
        complete([prompt("a")], Engine.of(spec), GREEDY, RUN, "label", 4, Meter(Budget(1, None)))
    assert len(missing_parts([prompt("a")], spec)) == 1


def test_users_engine_specs_come_first(warehouse: Warehouse) -> None:
    assert steps.spec_of("fake-a").kind == "fake"
    (warehouse.home / "engines" / "mine.toml").write_text('kind = "fake"\nmodel = "another"\n')
    assert steps.engine_of("mine", "candidate").model == "another"
    assert steps.engine_of("embedded:all-minilm-l6-v2", "embedder").kind == "embedder"


def test_requests_without_cost_have_no_usage() -> None:
    request = Prompts(prompts=[prompt("a")], sampling=GREEDY)
    assert [type(each) for each in request.at_most(request.units)] == [Generation]
    free = super(Prompts, request)
    assert free.at_most(request.units) == free.used(pl.DataFrame()) == []


def test_parts_hold_at_least_as_many_prompts_as_run_concurrently(warehouse: Warehouse) -> None:
    prompts = [prompt(str(i)) for i in range(100)]
    for n, sizes in ((8, [32, 32, 32, 4]), (64, [64, 36])):
        spec = EngineSpec(name="m", kind="openai", model="m", options={"max_concurrency": n})
        assert [len(units) for units in missing_parts(prompts, spec, batch=32)] == sizes


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_flow_run_shows_its_leaderboard_and_the_difference_to_the_occasion_before(
    monkeypatch: pytest.MonkeyPatch, is_repeated: bool
) -> None:
    board = pl.DataFrame({"config_hash": ["c"], "run_id": ["r"], "model": ["m"], "accuracy": [1 / 3]})
    changes = pl.DataFrame({"model": ["m"], "difference": [0.25]}).head(int(is_repeated))
    store = SimpleNamespace(query=lambda sql, _: board if "leaderboard_cure" in sql else changes)
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(steps.Warehouse, "open", lambda: store)
    monkeypatch.setattr(steps, "create_table_artifact", lambda **fields: shown.append(fields))
    monkeypatch.setenv("CULTUREMETER_REPORTS", "http://host/reports")
    steps.show_leaderboard("cure", "c")
    assert not shown  # outside of a flow run
    monkeypatch.setattr(steps.FlowRunContext, "get", lambda: object())
    steps.show_leaderboard("cure", "c")
    keys = ["leaderboard-cure", "difference-cure"][: 1 + is_repeated]
    assert [each["key"] for each in shown] == keys
    assert shown[0]["table"] == [{"model": "m", "accuracy": 0.3333}]
    for each in shown:
        text = each["description"]
        assert "[Report](http://host/reports/cure/c)" in text
        assert ("[Difference to the occasion before](http://host/artifacts/key/difference-cure)" in text) == (
            is_repeated
        )
