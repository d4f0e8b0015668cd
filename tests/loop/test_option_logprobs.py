"""Completions with the log-probability of each option: stored and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    Sampling,
    TokenAlternatives,
)
from tasks.engines.specs import EngineSpec
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tests.loop.completing import complete
from warehouse import Warehouse, run_checks

Calls = list[list[str]]
GREEDY = Sampling()
YES_NO = ("yes", "no")
SCHEMA = {"type": "object", "properties": {"label": {"enum": list(YES_NO)}}}


def prompt(text: str, options: Sequence[str] = YES_NO, field: str = "label") -> Prompt:
    return Prompt([{"role": "user", "content": text}], SCHEMA, options, field)


def completed(prompts: list[Prompt], spec: EngineSpec) -> list[Completion]:
    return complete(prompts, Engine.of(spec), GREEDY, ("run-1", "candidate"), "label")


def test_options_add_log_probabilities_and_do_not_change_the_prompt(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    plain, chosen = completed([prompt("a", ()), prompt("a")], spec)
    assert sent == [["a", "a"]]
    assert chosen.text == plain.text
    assert plain.option_logprobs is None
    assert chosen.option_logprobs is not None
    assert set(chosen.option_logprobs) == set(YES_NO)
    assert sum(map(math.exp, chosen.option_logprobs.values())) == pytest.approx(1)
    best = max(chosen.option_logprobs.items(), key=lambda pair: pair[1])
    assert best[0] == json.loads(chosen.text)["label"]  # the fake writes the most probable one
    assert completed([prompt("a"), prompt("a", ())], spec) == [chosen, plain]
    assert len(sent) == 1
    stored = warehouse.query("SELECT option_logprobs FROM response ORDER BY option_logprobs NULLS LAST")
    assert json.loads(stored["option_logprobs"][0]) == chosen.option_logprobs
    assert stored["option_logprobs"][1] is None
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_ids_of_prompts_are_those_of_the_first_release() -> None:
    """Other ids would request every stored completion again."""
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Salt? 米"}]
    assert Prompt(talk).id == "1ec5baea012ec32badbc671e958952be"
    assert Prompt(talk, SCHEMA).id == "10ac3309facf5bf892b8572b6ce81299"
    assert Prompt(talk, SCHEMA, (), "label").id == Prompt(talk, SCHEMA).id
    different = [Prompt(talk, SCHEMA), Prompt(talk, SCHEMA, YES_NO), Prompt(talk, SCHEMA, YES_NO, "label")]
    different += [Prompt(talk, SCHEMA, (*YES_NO, "neutral"), "label"), Prompt(talk, None, YES_NO)]
    assert len({each.id for each in different}) == len(different)
    assert Prompt(talk, SCHEMA, YES_NO[::-1], "label").id == different[2].id


def test_an_engine_without_probabilities_gives_completions_without_them(
    warehouse: Warehouse, spec: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[int] = []
    generate = FakeEngine.generate

    def mute(self: FakeEngine, talks: Any, sampling: Any, schema: Any, n: list[int], *_: Any) -> Any:
        wanted.extend(n)
        return generate(self, talks, sampling, schema)

    monkeypatch.setattr(FakeEngine, "generate", mute)
    answer, *_ = completed([prompt("a"), prompt("b"), prompt("c", ())], spec)
    assert answer.option_logprobs is None
    assert json.loads(answer.text)["label"] in YES_NO
    assert sorted(wanted) == [0, MAX_ALTERNATIVES, MAX_ALTERNATIVES]  # one call for all


def test_a_missing_field_or_option_has_no_log_probability(warehouse: Warehouse, spec: EngineSpec) -> None:
    answer, empty = completed([prompt("a", field="verdict"), prompt("a", options=("maybe", "never"))], spec)
    assert answer.option_logprobs is None
    assert empty.option_logprobs == {}  # present but empty: no option is among the alternatives


def test_the_fake_engine_gives_alternatives_of_its_text(spec: EngineSpec) -> None:
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
