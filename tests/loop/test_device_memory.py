"""Shares of a GPU's memory by hand, and how often a run loads each engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tasks.engines.local import memory
from tasks.engines.local.memory import GIB
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.loop import device_memory
from tasks.loop.requests import Engine, Later, Role

GPU = 100 * GIB
ROLES: dict[str, Role] = {"sim": "simulator", "judge": "judge"}


def vllm(name: str, **options: Any) -> Engine:
    spec = EngineSpec(
        name=name, kind="vllm", model=name, content=name, dtype="bfloat16", device="cuda", options=options
    )
    return Engine.of(spec)


def fake(name: str, gib: float = 4) -> Engine:
    options = {"memory_gib": gib}
    return Engine.of(EngineSpec(name=name, kind="fake", model=name, options=options))


@pytest.fixture(autouse=True)
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of 100 GiB, and models whose billions of weights are the number in their names."""
    monkeypatch.delenv(device_memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "_name", lambda device: "cuda:0" if device == "cuda" else "cpu")
    monkeypatch.setattr(memory, "_total", lambda device: GPU)
    monkeypatch.setattr(memory, "_tensor_sizes", lambda source, _: [int(source.strip("abcs")) * GIB])


def shares(candidates: list[Engine], *others: Engine) -> dict[str, Any]:
    named = {"sim": others[0]} | ({"judge": others[1]} if others[1:] else {})
    own, rest = device_memory.divided({e.name: e for e in candidates}, named, ROLES, Path())
    every = [*own.values(), *rest.values()]
    return {e.name: e.spec.options.get("gpu_memory_utilization") for e in every if e.spec}


def test_a_model_and_its_simulator_share_a_gpu_by_their_sizes() -> None:
    """Weights of 8 and 4 GiB elements in 2 bytes, times 1.25: 20 and 10 GiB; 1.5 for processes, 4 for caches.

    Of the 92 GiB 51 are left, so each has 25.5 GiB more: 51 and 41 of 100.
    """
    assert shares([vllm("a8")], vllm("s4")) == {"a8": 0.51, "s4": 0.41}
    judged = shares([vllm("a8"), vllm("b2")], vllm("s4"), vllm("c9"))
    assert judged == {"a8": 0.51, "b2": 0.51, "s4": 0.41, "c9": None}  # one candidate at a time


def test_a_share_of_memory_does_not_change_the_hash() -> None:
    engines, _ = device_memory.divided({"a": vllm("a8")}, {"sim": vllm("s4")}, ROLES, Path())
    spec = engines["a"].spec
    assert spec is not None
    assert spec.hash() == engines["a"].hash == vllm("a8").hash


@pytest.mark.parametrize(
    ("candidate", "simulator"),
    [
        (vllm("a30"), vllm("s8")),  # 80.5 + 25.5 GiB do not fit
        (vllm("a8"), vllm("a8")),  # one model is loaded once
        (vllm("a8", gpu_memory_utilization=0.5), vllm("s4", kv_cache_memory_bytes=GIB)),  # stated
        (vllm("a8"), fake("s4")),
    ],
)
def test_engines_keep_their_memory_where_sharing_does_not_help(candidate: Engine, simulator: Engine) -> None:
    own, others = device_memory.divided({"a": candidate}, {"sim": simulator}, ROLES, Path())
    assert (own["a"], others["sim"]) == (candidate, simulator)


def test_a_stated_share_holds_for_every_engine_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(device_memory.VARIABLE, "0.3")
    own = shares([vllm("a8"), vllm("b2", gpu_memory_utilization=0.5)], vllm("s4"), vllm("c9"))
    assert own == {"a8": 0.3, "b2": 0.5, "s4": 0.3, "c9": 0.3}
    for text in ("0", "1.5", "half", "nan"):
        monkeypatch.setenv(device_memory.VARIABLE, text)
        with pytest.raises(EngineError, match="give the share of a GPU's memory"):
            device_memory.configured_share()


@pytest.mark.parametrize(
    ("gib", "times"),
    [
        ("16", {"a": 1, "b": 1, "sim": 1, "judge": 1}),
        ("9", {"a": 1, "b": 1, "sim": 2, "judge": 1}),  # the simulator may leave for the second model
        ("5", {"a": 6, "b": 6, "sim": 12, "judge": 1}),  # five turns of each beside the first
    ],
)
def test_loads_of_engines_follow_the_memory(monkeypatch: pytest.MonkeyPatch, gib: str, times: Any) -> None:
    monkeypatch.setenv(memory.VARIABLE, gib)
    candidates, others = {n: fake(n) for n in "ab"}, {n: fake(n) for n in ("sim", "judge")}
    later = [Later("candidate", "", 50, 9), Later("simulator", "sim", 50, 9), Later("judge", "judge", 99, 9)]
    assert device_memory.loads(candidates, others, ROLES, later, 10, Path()) == times


def test_served_engines_are_never_loaded() -> None:
    served = Engine.of(EngineSpec(name="s", kind="openai", model="s"))
    assert device_memory.loads({"a": fake("a")}, {"sim": served}, ROLES, [], 10, Path()) == {"a": 1}
    assert device_memory.loads({"s": served}, {"sim": fake("f")}, ROLES, [], 10, Path()) == {"f": 1}
