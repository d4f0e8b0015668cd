"""One model in memory at a time, and the fake engine that other tests stand on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError, Generator, Sampling, Scorer
from tasks.engines.specs import EngineSpec


def fake(name: str = "m", **fields: Any) -> EngineSpec:
    return EngineSpec(**{"name": name, "kind": "fake", "model": name, **fields})


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    load.unload()
    yield
    load.unload()


def test_the_same_spec_is_loaded_once(tmp_path: Path) -> None:
    engine = load.load(fake(), tmp_path)
    assert load.scorer(fake(), tmp_path) is engine
    assert load.generator(fake(), tmp_path) is engine
    assert load.load(fake(dtype="float32"), tmp_path) is not engine


def test_another_model_closes_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(FakeEngine, "close", lambda self: closed.append(self.spec.name))
    load.load(fake("a"), tmp_path)
    load.load(fake("b"), tmp_path)
    assert closed == ["a"]
    load.unload()
    load.unload()
    assert closed == ["a", "b"]


def test_a_served_model_leaves_the_loaded_one_alone(tmp_path: Path) -> None:
    engine = load.load(fake(), tmp_path)
    served = EngineSpec(name="judge", kind="openai", model="x", base_url="http://localhost:1/v1")
    assert isinstance(load.generator(served, tmp_path), Generator)
    assert load.load(fake(), tmp_path) is engine


def test_threads_load_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, built = load._build, []

    def slow_build(spec: EngineSpec, cache: Path) -> load.Engine:
        built.append(spec.name)
        time.sleep(0.05)
        return build(spec, cache)

    monkeypatch.setattr(load, "_build", slow_build)
    threads = [threading.Thread(target=load.load, args=(fake(), tmp_path)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["m"]


def test_kinds_that_cannot_say_which_can(tmp_path: Path) -> None:
    served = EngineSpec(name="gpt", kind="openai", model="x")
    with pytest.raises(EngineError, match=r'gpt.*use kind "packed_trie" or "vllm"'):
        load.scorer(served, tmp_path)
    with pytest.raises(EngineError, match=r'only scores; set kind = "vllm" to generate'):
        load.generator(EngineSpec(name="m", model="a/b"), tmp_path)


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


def test_fake_options_are_checked_and_delay_delays() -> None:
    with pytest.raises(EngineError, match=r"(?s)options.*dely"):
        FakeEngine(fake(options={"dely": 1}))
    start = time.perf_counter()
    FakeEngine(fake(options={"delay": 0.05})).score(["a"], ["b"])
    assert time.perf_counter() - start >= 0.05
