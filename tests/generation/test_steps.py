"""Every conversation is asked once ever of an engine under one sampling; answers are kept and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from itertools import chain

import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.generation.steps import RESPONSES, Ask, answers, missing, request_of
from warehouse import Warehouse, adopt_parts, run_checks

Calls = list[list[str]]
GREEDY = Sampling()
RUN = ("run-1", "candidate")
SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}


def ask(text: str, schema: Mapping[str, object] | None = None) -> Ask:
    return Ask([{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}], schema)


def texts(asks: list[Ask], spec: EngineSpec, sampling: Sampling = GREEDY, batch: int = 16) -> list[str]:
    """By the task's own function: no Prefect server is needed for it."""
    return [a.text for a in answers.fn(asks, spec, sampling, RUN, "label", batch)]


def test_answers_come_in_order_and_repeats_are_asked_once(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    found = texts([ask("b"), ask("a"), ask("b")], spec)
    assert found[0] == found[2] != found[1]
    assert sorted(chain(*asked)) == ["a", "b"]
    assert texts([ask("a"), ask("b")], spec) == [found[1], found[0]]
    assert len(list(chain(*asked))) == 2  # nothing more


def test_an_answer_comes_back_as_the_engine_gave_it(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    sampling = Sampling(temperature=0.7, seed=3)
    questions = [ask("a"), ask("b", SCHEMA)]
    given = [g for q in questions for g in FakeEngine(spec).generate([q.conversation], sampling, q.schema)]
    asked.clear()
    made = answers.fn(questions, spec, sampling, RUN, "label")
    assert [Generation(*fields) for *fields, _ in map(astuple, made)] == given
    assert [a.option_logprobs for a in made] == [None, None]
    assert answers.fn(questions, spec, sampling, RUN, "label") == made
    assert len(asked) == 2  # one call a schema, and none the second time
    assert [g.prompt_tokens for g in given] == [3, 3]  # "Be brief." and "a"


def test_only_what_is_missing_is_asked(warehouse: Warehouse, spec: EngineSpec, asked: Calls) -> None:
    texts([ask("a"), ask("b")], spec)
    asked.clear()
    texts([ask("a"), ask("b"), ask("c")], spec)
    assert asked == [["c"]]
    # Another sampling, schema or engine is another question.
    texts([ask("a")], spec, Sampling(seed=1))
    texts([ask("a", SCHEMA)], spec)
    texts([ask("a")], spec.model_copy(update={"model": "other"}))
    assert asked[1:] == [["a"], ["a"], ["a"]]


def test_schemas_are_kept_to(warehouse: Warehouse, spec: EngineSpec, asked: Calls) -> None:
    free, bound = texts([ask("a"), ask("a", SCHEMA)], spec)
    assert json.loads(bound)["verdict"] in ("yes", "no")
    assert free.startswith("Answer ")


def test_responses_are_visible_in_sql(warehouse: Warehouse, spec: EngineSpec) -> None:
    found = texts([ask("salt?"), ask("米？", SCHEMA)], spec)
    stored = warehouse.query("SELECT * FROM response ORDER BY conversation")
    assert sorted(stored["text"]) == sorted(found)
    assert set(stored["model"]) == {"judge"}
    assert set(stored["run_id"]) == {"run-1"}
    assert set(stored["request_hash"]) == {request_of(spec, GREEDY)}
    said = [json.loads(text) for text in stored["conversation"]]
    assert {s[-1]["content"] for s in said} == {"salt?", "米？"}
    assert "米？" in "".join(stored["conversation"])  # readable, not escaped
    assert all(n > 0 for n in stored["completion_tokens"])
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_part_holds_a_batch_and_a_crash_loses_one(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.generation import steps

    generate, left = steps._generate, [2]

    def fails_at_the_third(*arguments: object) -> object:
        if not left[0]:
            raise EngineError("the server went away")
        left[0] -= 1
        return generate(*arguments)  # type: ignore[arg-type]

    asks = [ask(str(i)) for i in range(5)]
    monkeypatch.setattr(steps, "_generate", fails_at_the_third)
    with pytest.raises(EngineError, match="went away"):
        texts(asks, spec, batch=2)
    assert warehouse.query("SELECT count(*) AS n, count(DISTINCT part) AS p FROM response").row(0) == (4, 2)
    monkeypatch.setattr(steps, "_generate", generate)
    asked.clear()
    texts(asks, spec, batch=2)
    assert [len(call) for call in asked] == [1]


def test_a_stored_part_that_was_not_registered_is_adopted(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    asks = [ask("a"), ask("b")]
    texts(asks, spec)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit")
    assert len(missing(asks, spec, GREEDY)) == 2
    assert len(adopt_parts(warehouse, RESPONSES).adopted) == 1
    assert not missing(asks, spec, GREEDY)


def test_the_identity_of_a_conversation() -> None:
    assert ask("a").item == ask("a").item
    others = [ask("b"), ask("a", SCHEMA), Ask([{"role": "user", "content": "a"}])]
    assert ask("a").item not in {other.item for other in others}


def test_an_engine_that_only_scores_is_refused(warehouse: Warehouse) -> None:
    spec = EngineSpec(name="s", kind="packed_trie", model="m")
    with pytest.raises(EngineError, match="only scores"):
        texts([ask("a")], spec)


def test_nothing_to_ask_is_nothing(warehouse: Warehouse, spec: EngineSpec, asked: Calls) -> None:
    assert texts([], spec) == []
    assert not asked
