"""Engines stay in memory while they fit; the fake engine is stable and follows schemas."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tasks.engines import fake as fake_module
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local import memory
from tasks.engines.protocols import EngineError, Generator, Sampling, Scorer
from tasks.engines.specs import EngineSpec, find_spec
from tests.waiting import until


def fake(name: str = "m", **fields: Any) -> EngineSpec:
    return EngineSpec(**{"name": name, "kind": "fake", "model": name, **fields})


def large(name: str, gib: float) -> EngineSpec:
    return fake(name, options={"memory_gib": gib})


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    load.unload()
    yield
    load.unload()


@pytest.fixture
def two_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "2")


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(FakeEngine, "close", lambda self: names.append(self.spec.name))
    return names


def test_equal_specs_are_loaded_once(tmp_path: Path) -> None:
    engine = load.load(fake(), tmp_path)
    assert load.load(fake(), tmp_path, "score") is engine
    assert load.load(fake(), tmp_path, "generate") is engine
    assert load.load(fake(dtype="float32"), tmp_path) is not engine


@pytest.mark.usefixtures("two_gib")
def test_alternating_engines_are_loaded_once_if_they_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    built: Counter[str] = Counter()
    build = load._build

    def counted(spec: EngineSpec, source: str) -> Any:
        built[spec.name] += 1
        return build(spec, source)

    monkeypatch.setattr(load, "_build", counted)
    roles = [large("candidate", 1), large("simulator", 0.5), large("judge", 0.5)]
    for _ in range(5):
        for spec in roles:
            load.load(spec, tmp_path, "generate")
    assert built == {"candidate": 1, "simulator": 1, "judge": 1}
    assert closed == []
    load.unload()
    load.unload()
    assert closed == ["candidate", "simulator", "judge"]


@pytest.mark.usefixtures("two_gib")
def test_least_recently_used_engine_is_closed_first(tmp_path: Path, closed: list[str]) -> None:
    for name in ("a", "b", "a", "c"):
        load.load(large(name, 1), tmp_path)
    assert closed == ["b"]
    load.load(large("d", 0.1), tmp_path)
    assert closed == ["b", "a"]


@pytest.mark.usefixtures("two_gib")
def test_only_as_many_engines_as_needed_are_closed(tmp_path: Path, closed: list[str]) -> None:
    for name in ("a", "b", "c", "d"):
        load.load(large(name, 0.5), tmp_path)
    load.load(large("e", 1), tmp_path)
    assert closed == ["a", "b"]


@pytest.mark.usefixtures("two_gib")
def test_engine_larger_than_the_budget_is_loaded_alone(tmp_path: Path, closed: list[str]) -> None:
    for spec in (large("a", 1), large("b", 1), large("huge", 50)):
        engine = load.load(spec, tmp_path)
    assert closed == ["a", "b"]
    assert load.load(large("huge", 50), tmp_path) is engine


@pytest.mark.usefixtures("two_gib")
def test_each_device_has_its_own_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    own = memory.of_engine
    monkeypatch.setattr(
        memory, "of_engine", lambda spec, source: memory.Claim(spec.device, own(spec, source).bytes)
    )
    for device in ("cpu", "cuda:0", "cuda:1"):
        load.load(large(device, 2).model_copy(update={"device": device}), tmp_path)
    assert closed == []
    load.load(large("more", 2).model_copy(update={"device": "cuda:0"}), tmp_path)
    assert closed == ["cuda:0"]


@pytest.mark.usefixtures("two_gib")
def test_model_of_unknown_size_counts_with_its_size_once_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    sizes = iter([memory.budget("cpu"), memory.GIB])
    own = memory.of_engine
    monkeypatch.setattr(
        memory,
        "of_engine",
        lambda spec, source: memory.Claim("cpu", next(sizes)) if spec.name == "new" else own(spec, source),
    )
    load.load(large("a", 1), tmp_path)
    load.load(fake("new"), tmp_path)
    assert closed == ["a"]
    load.load(large("b", 1), tmp_path)
    assert closed == ["a"]


def test_missing_model_closes_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.001")
    load.load(fake(), tmp_path)
    with pytest.raises(EngineError, match=r"no config\.json"):
        load.load(EngineSpec(name="gone", model=str(tmp_path / "gone"), dtype="float32"), tmp_path)
    assert closed == []


def words(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_embedder_is_reused_until_its_file_changes(tmp_path: Path) -> None:
    source = words(tmp_path / "words.vec", "soy 1 0\nrice 0 1\n")
    embedder = load.embedder(source, tmp_path)
    assert load.embedder(source, tmp_path) is embedder
    words(tmp_path / "words.vec", "soy 1 0\nrice 0 2\n")
    again = load.embedder(source, tmp_path)
    assert again.name != embedder.name
    np.testing.assert_array_equal(again.embed(["rice"]).vectors, [[0, 2]])


@pytest.mark.usefixtures("two_gib")
def test_embedders_and_engines_share_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    source = words(tmp_path / "words.vec", "soy 1 0\n")
    monkeypatch.setattr(memory, "of_embedder", lambda source: memory.Claim("cpu", memory.GIB))
    load.load(large("a", 1), tmp_path)
    embedder = load.embedder(source, tmp_path)
    assert closed == []
    load.load(large("b", 1), tmp_path)
    assert closed == ["a"]
    load.load(large("c", 1), tmp_path)
    assert load.embedder(source, tmp_path) is not embedder
    assert closed == ["a", "b"]


def test_served_model_closes_no_loaded_engine(tmp_path: Path) -> None:
    engine = load.load(fake(), tmp_path)
    served = EngineSpec(name="judge", kind="openai", model="x", base_url="http://localhost:1/v1")
    assert isinstance(load.load(served, tmp_path, "generate"), Generator)
    assert load.load(fake(), tmp_path) is engine


def in_threads(n: int, call: Any) -> None:
    errors: list[Exception] = []

    def guarded(number: int) -> None:
        try:
            call(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_concurrent_loads_build_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, built, begun = load._build, [], []

    def slow_build(spec: EngineSpec, source: str) -> Any:
        built.append(spec.name)
        until(lambda: len(begun) == 8)
        return build(spec, source)

    def loads(number: int) -> None:
        begun.append(number)
        load.load(fake(), tmp_path)

    monkeypatch.setattr(load, "_build", slow_build)
    in_threads(8, loads)
    assert built == ["m"]


@pytest.mark.heavy
@pytest.mark.usefixtures("two_gib")
def test_concurrent_loads_never_exceed_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: Counter[str] = Counter()
    most = []
    build = load._build

    def counted(spec: EngineSpec, source: str) -> Any:
        alive[spec.name] += 1
        most.append(sum(alive.values()))
        return build(spec, source)

    monkeypatch.setattr(load, "_build", counted)
    monkeypatch.setattr(FakeEngine, "close", lambda self: alive.subtract([self.spec.name]))

    def turns(number: int) -> None:
        for turn in range(5):
            load.load(large(f"m{(number + turn) % 4}", 1), tmp_path)

    in_threads(6, turns)
    assert max(most) == 2
    assert max(alive.values()) == 1
    assert sum(alive.values()) == 2


KINDS = ("packed_trie", "masked", "seq2seq", "vllm", "openai", "fake")
ABLE = {
    "score": {"packed_trie", "vllm", "fake"},
    "candidates": {"packed_trie", "masked", "seq2seq", "vllm", "fake"},
    "generate": {"vllm", "openai", "fake"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ability", ABLE)
def test_abilities_are_known_without_loading(
    ability: Any, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = EngineSpec(name="m", kind=kind, model="no/such", base_url="http://localhost:1/v1")
    monkeypatch.setattr(load, "_build", lambda *_: pytest.fail("loaded"))
    if kind in ABLE[ability]:
        load.check_ability(spec, ability)
        return
    with pytest.raises(EngineError, match=f"'m'.*\"{kind}\"") as checked:
        load.check_ability(spec, ability)
    with pytest.raises(EngineError) as loaded:
        load.load(spec, tmp_path, ability)
    assert str(loaded.value) == str(checked.value)


def test_kinds_without_an_ability_are_refused_and_able_kinds_named() -> None:
    served = EngineSpec(name="gpt", kind="openai", model="x")
    with pytest.raises(EngineError, match=r'gpt.*use kind "packed_trie" or "vllm"'):
        load.check_ability(served, "score")
    with pytest.raises(EngineError, match=r'gpt.*"packed_trie", "masked", "seq2seq" or "vllm"'):
        load.check_ability(served, "candidates")
    with pytest.raises(EngineError, match=r'only scores; set kind = "vllm" to generate'):
        load.check_ability(EngineSpec(name="m", model="a/b"), "generate")
    with pytest.raises(EngineError, match="only scores; use smollm2-135m-vllm"):
        load.check_ability(find_spec("smollm2-135m", None), "generate")


def test_fake_scores_are_stable_and_independent_of_order() -> None:
    engine = FakeEngine(fake())
    assert isinstance(engine, Scorer)
    framed = engine.frame(["Peru?", "Ghana?"])
    items = [framed.lead + i for i in ("rice", "fried rice", "fufu")]
    scores = engine.score(framed.prefixes, items)
    assert scores.shape == (2, 3)
    assert scores.dtype == np.float32
    assert (scores <= 0).all()
    assert (scores[0] != scores[1]).all()
    np.testing.assert_array_equal(engine.score(framed.prefixes[::-1], items[::-1]), scores[::-1, ::-1])
    code = (
        "from tasks.engines.fake import FakeEngine as F; from tasks.engines.specs import EngineSpec as S;"
        f"print(float(F(S(name='m', kind='fake', model='m')).score({framed.prefixes!r}, {items!r})[1, 2]))"
    )
    other_process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(other_process.stdout) == float(scores[1, 2])
    assert engine.count_tokens(framed.prefixes[0], items).tolist() == [1, 2, 1]


def test_fake_generations_follow_the_schema() -> None:
    schema: dict[str, Any] = {
        "$defs": {"grade": {"type": "integer", "minimum": 1, "maximum": 5}},
        "type": "object",
        "properties": {
            "verdict": {"enum": ["yes", "no"]},
            "grade": {"$ref": "#/$defs/grade"},
            "reasons": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "sure": {"type": "boolean"},
        },
        "required": ["verdict", "grade", "reasons", "note", "share", "sure"],
        "additionalProperties": False,
    }
    engine = FakeEngine(fake())
    talks = [[{"role": "user", "content": f"question {i}"}] for i in range(20)]
    answers = engine.generate(talks, Sampling(), schema)
    for answer in answers:
        jsonschema.validate(json.loads(answer.text), schema)
    assert len({a.text for a in answers}) == 20
    assert engine.generate(talks, Sampling(), schema) == answers
    assert engine.generate(talks, Sampling(seed=1), schema) != answers


def test_fake_options_are_checked_and_delay_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"(?s)options.*dely"):
        FakeEngine(fake(options={"dely": 1}))
    slept = list[float]()
    monkeypatch.setattr(fake_module.time, "sleep", slept.append)
    FakeEngine(fake(options={"delay": 0.05})).score(["a"], ["b"])
    assert slept == [0.05]
