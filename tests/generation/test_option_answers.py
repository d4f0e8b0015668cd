"""Answers that also say how probable each option was: stored, read back, and of older warehouses."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import MAX_ALTERNATIVES, Generation, Message, Sampling, TokenAlternatives
from tasks.engines.specs import EngineSpec
from tasks.generation.steps import RESPONSES, Answer, Ask, answers, missing
from warehouse import KINDS, Warehouse, run_checks, verify_parts
from warehouse.part_kinds import EMPTY_PART
from warehouse.parts import part_path

Calls = list[list[str]]
GREEDY = Sampling()
YES_NO = ("yes", "no")
SCHEMA = {"type": "object", "properties": {"label": {"enum": list(YES_NO)}}}


def ask(text: str, options: Sequence[str] = YES_NO, field: str = "label") -> Ask:
    return Ask([{"role": "user", "content": text}], SCHEMA, options, field)


def found(asks: list[Ask], spec: EngineSpec, run: str = "run-1", **more: Any) -> list[Answer]:
    return answers.fn(asks, spec, GREEDY, (run, "candidate"), "label", **more)


def test_options_change_what_is_stored_and_not_what_is_sent(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    plain, chosen = found([ask("a", ()), ask("a")], spec)
    assert asked == [["a"], ["a"]]
    assert chosen.text == plain.text
    assert plain.option_logprobs is None
    assert chosen.option_logprobs is not None
    assert set(chosen.option_logprobs) == set(YES_NO)
    assert sum(map(math.exp, chosen.option_logprobs.values())) == pytest.approx(1)
    best = max(chosen.option_logprobs.items(), key=lambda pair: pair[1])
    assert best[0] == json.loads(chosen.text)["label"]  # the fake writes the most probable one
    assert found([ask("a"), ask("a", ())], spec) == [chosen, plain]
    assert len(asked) == 2
    stored = warehouse.query("SELECT option_logprobs FROM response ORDER BY option_logprobs NULLS LAST")
    assert json.loads(stored["option_logprobs"][0]) == chosen.option_logprobs
    assert stored["option_logprobs"][1] is None
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_the_identity_of_an_ask_without_options_is_as_it_was() -> None:
    """Else every stored answer would be asked again. The hashes are those of the first release."""
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Salt? 米"}]
    assert Ask(talk).item == "1ec5baea012ec32badbc671e958952be"
    assert Ask(talk, SCHEMA).item == "10ac3309facf5bf892b8572b6ce81299"
    assert Ask(talk, SCHEMA, (), "label").item == Ask(talk, SCHEMA).item
    different = [Ask(talk, SCHEMA), Ask(talk, SCHEMA, YES_NO), Ask(talk, SCHEMA, YES_NO, "label")]
    different += [Ask(talk, SCHEMA, (*YES_NO, "neutral"), "label"), Ask(talk, None, YES_NO)]
    assert len({each.item for each in different}) == len(different)
    assert Ask(talk, SCHEMA, YES_NO[::-1], "label").item == different[2].item


def test_an_engine_without_probabilities_answers_all_the_same(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[int] = []
    generate = FakeEngine.generate

    def mute(
        self: FakeEngine,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        schema: Mapping[str, Any] | None,
        alternatives: int,
    ) -> list[Generation]:
        wanted.append(alternatives)
        return generate(self, conversations, sampling, schema)

    monkeypatch.setattr(FakeEngine, "generate", mute)
    answer, *_ = found([ask("a"), ask("b"), ask("c", ())], spec)
    assert answer.option_logprobs is None
    assert json.loads(answer.text)["label"] in YES_NO
    assert sorted(wanted) == [0, MAX_ALTERNATIVES]  # one call with, one without


def test_a_field_that_is_not_there(warehouse: Warehouse, spec: EngineSpec) -> None:
    answer, empty = found([ask("a", field="verdict"), ask("a", options=("maybe", "never"))], spec)
    assert answer.option_logprobs is None
    assert empty.option_logprobs == {}  # there, but none of the options is among the alternatives


def test_the_fake_gives_alternatives_of_its_text(spec: EngineSpec) -> None:
    talk = [[{"role": "user", "content": "a"}]]
    engine = FakeEngine(spec)
    plain, given = engine.generate(talk, GREEDY, SCHEMA)[0], engine.generate(talk, GREEDY, SCHEMA, 5)[0]
    assert plain.tokens == ()
    assert "".join(token.text for token in given.tokens) == given.text == plain.text
    assert engine.generate(talk, GREEDY, SCHEMA, 5)[0] == given
    written = next(token for token in given.tokens if token.text in YES_NO)
    assert set(written.logprobs) == set(YES_NO)
    assert max(written.logprobs, key=lambda word: written.logprobs[word]) == written.text
    assert engine.generate(talk, GREEDY, SCHEMA, 1)[0].tokens[-3] != written  # no others
    assert all(isinstance(token, TokenAlternatives) for token in given.tokens)


# --- refresh -----------------------------------------------------------------------------------------


def shown(warehouse: Warehouse) -> pl.DataFrame:
    return warehouse.query("SELECT conversation[-5:-4] AS q, text, part, run_id FROM response ORDER BY q")


def second_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the fake engine answers otherwise."""
    generate = FakeEngine.generate

    def other(self: FakeEngine, *given: Any) -> list[Generation]:
        return [Generation("second", "stop", 1, 1, 0) for _ in generate(self, *given)]

    monkeypatch.setattr(FakeEngine, "generate", other)


@pytest.mark.parametrize("batch", [2, 3, 16])
def test_a_refresh_asks_again_and_replaces(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    asks = [Ask([{"role": "user", "content": text}]) for text in "abcde"]
    first = found(asks, spec, batch=2)
    assert found(asks, spec, batch=batch) == first
    asked.clear()
    second_mind(monkeypatch)
    again = found([*asks[:3], asks[0]], spec, run="run-2", batch=batch, refresh=True)
    assert sorted(chain(*asked)) == ["a", "b", "c"]  # each once
    assert [a.text for a in again] == ["second"] * 4
    assert found(asks, spec) == [*again[:3], *first[3:]]  # and so it stays
    rows = shown(warehouse)
    assert rows["text"].to_list() == ["second"] * 3 + [a.text for a in first[3:]]
    assert rows["run_id"].to_list() == ["run-2"] * 3 + ["run-1"] * 2
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert verify_parts(warehouse).is_empty()


def test_a_refresh_that_failed_leaves_what_it_had_not_reached(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.generation.budget import Budget, BudgetReached, Meter

    asks = [Ask([{"role": "user", "content": text}]) for text in "abc"]
    first = found(asks, spec, batch=1)
    second_mind(monkeypatch)
    most = 17 + GREEDY.max_tokens  # of one answer, as the meter estimates it; 2 are used
    with pytest.raises(BudgetReached):
        found(asks, spec, batch=1, refresh=True, meter=Meter(Budget(max_tokens=most)))
    texts = set(shown(warehouse)["text"])
    assert "second" in texts
    assert len(texts & {a.text for a in first}) == 2
    assert not missing(asks, spec, GREEDY)


# --- warehouses of earlier releases ------------------------------------------------------------------


def strip(warehouse: Warehouse, kind: str, part: str) -> None:
    """Make a part as it was before its kind had the columns that were added."""
    path = part_path(warehouse.home, kind, part)
    pl.read_parquet(path).drop(list(KINDS[kind].added)).write_parquet(path)


def test_parts_without_the_column_are_read_as_before(
    warehouse: Warehouse, spec: EngineSpec, asked: Calls
) -> None:
    old, new = [ask("a", ())], [ask("b")]
    before = found(old, spec)
    strip(warehouse, RESPONSES, warehouse.query("SELECT part FROM response")["part"][0])
    strip(warehouse, RESPONSES, EMPTY_PART)
    Warehouse.open()
    assert "option_logprobs" in pl.read_parquet_schema(part_path(warehouse.home, RESPONSES, EMPTY_PART))
    assert found(old, spec) == before
    assert len(asked) == 1
    both = [*before, *found(new, spec)]
    assert found([*old, *new], spec) == both
    rows = warehouse.query("SELECT text, option_logprobs FROM response ORDER BY option_logprobs NULLS FIRST")
    assert rows["text"].to_list() == [a.text for a in both]
    assert rows["option_logprobs"].is_null().to_list() == [True, False]
    assert verify_parts(warehouse).is_empty()
    assert run_checks(warehouse)["n_violations"].sum() == 0
