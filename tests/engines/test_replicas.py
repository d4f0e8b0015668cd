"""Replicas of an engine in their own processes: equal answers from each of them, also after a kill."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from tasks.engines import copies, load, replicas
from tasks.engines.copies import Process, ReplicaLost, connected
from tasks.engines.fake import FakeEngine
from tasks.engines.local import devices, memory
from tasks.engines.protocols import CandidateScorer, Cloze, EngineError, Generator, Sampling, Scorer
from tasks.engines.replicas import Replicas, environment_of, load_engine, width
from tasks.engines.specs import EngineSpec
from tests.waiting import LONGEST_WAIT_S, until

ITEMS = ["rice", "fried rice", "bread"]
PREFIXES = ["In Peru:", "In Japan:"]
TALK = [[{"role": "user", "content": "Hello?"}]]
CLOZE = Cloze(("Ceviche has", "Ramen has"), " ", ".", "has")


def fake(**fields: Any) -> EngineSpec:
    return EngineSpec(**{"name": "m", "kind": "fake", "model": "m", **fields})


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Request two replicas, and unload them after the test."""
    monkeypatch.setenv(replicas.REPLICAS, "2")
    monkeypatch.delenv(replicas.RAY, raising=False)
    yield
    load.unload()


@pytest.fixture(scope="module")
def pair() -> Iterator[Replicas]:
    """Two copies of the fake engine."""
    here = Path.cwd()
    copies = [Process(fake(), here, environment_of([], 0, 2, i)) for i in range(2)]
    pool = Replicas(fake(), copies)
    yield pool
    pool.close()
    assert all(copy.process.returncode == 0 for copy in copies)


def test_every_method_of_replicas_equals_one_engine(pair: Replicas) -> None:
    one, done = FakeEngine(fake()), list[int]()
    assert isinstance(pair, Scorer)
    assert isinstance(pair, CandidateScorer)
    assert isinstance(pair, Generator)
    for _ in range(2):  # both copies
        np.testing.assert_array_equal(pair.score(PREFIXES, ITEMS, done.append), one.score(PREFIXES, ITEMS))
    assert done == [6, 6]
    assert pair.frame(PREFIXES) == one.frame(PREFIXES)
    assert pair.count_tokens("", ITEMS).tolist() == one.count_tokens("", ITEMS).tolist()
    assert pair.generate(TALK, Sampling(seed=3)) == one.generate(TALK, Sampling(seed=3))
    ours, own = pair.score_candidates(CLOZE, ITEMS, done.append), one.score_candidates(CLOZE, ITEMS)
    np.testing.assert_array_equal(ours.probability, own.probability)
    assert done[-1] == 6


def test_errors_of_a_replica_are_raised_here(pair: Replicas) -> None:
    with pytest.raises(EngineError, match="cannot make a value for the schema"):
        pair.generate(TALK, Sampling(), {"type": "colour"})
    with pytest.raises(RuntimeError, match="replica of 'm': Traceback"):
        pair.frame([1])  # type: ignore[list-item]
    assert pair.frame(["?"]).style == "base"  # the copies are still alive


class Meets:
    """A replica whose call ends once the other replica has a call too."""

    def __init__(self, meeting: Barrier) -> None:
        self.meeting, self.free = meeting, Lock()

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        assert self.free.acquire(blocking=False), "it serves two calls"
        self.meeting.wait(LONGEST_WAIT_S)
        self.free.release()
        return method

    def revive(self) -> None:
        """Do nothing: this replica does not die."""

    def close(self) -> None:
        """Do nothing: there is no process."""


def test_calls_run_in_parallel_and_each_replica_serves_one() -> None:
    meeting = Barrier(2)
    engine = Replicas(fake(), [Meets(meeting), Meets(meeting)])
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: engine.frame(["?"]), range(4))) == ["frame"] * 4


def test_killed_replica_fails_only_its_own_call_and_is_restarted(tmp_path: Path) -> None:
    engine = load_engine(fake(), tmp_path, "score")
    expected = engine.score(PREFIXES, ITEMS)
    first = engine.copies[1].process.pid
    os.kill(first, signal.SIGSTOP)  # the stopped copy does not answer
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(engine.score, PREFIXES, ITEMS)
        until(lambda: engine._free.qsize() == 1)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ReplicaLost, match=r"replica of 'm' died \(exit code -9\)"):
            call.result()
    until(lambda: engine._free.qsize() == 2)
    for _ in range(3):
        np.testing.assert_array_equal(engine.score(PREFIXES, ITEMS), expected)
    assert engine.copies[1].process.pid != first


def test_engine_that_cannot_be_loaded_raises_its_error(tmp_path: Path) -> None:
    engine = load_engine(fake(options={"colour": "red"}), tmp_path, "score")
    with pytest.raises(EngineError, match="colour"):
        engine.score(PREFIXES, ITEMS)


def test_replicas_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom tasks.engines.replicas import load_engine\n"
        "from tasks.engines.specs import EngineSpec\n"
        "spec = EngineSpec(name='m', kind='fake', model='m', options={'delay': 60})\n"
        f"engine = load_engine(spec, Path({str(tmp_path)!r}), 'score')\n"
        "print(*(copy.process.pid for copy in engine.copies), flush=True)\nengine.score(['a'], ['b'])\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert asking.stdout
    pids = [int(pid) for pid in asking.stdout.readline().split()]
    asking.kill()
    asking.wait()
    assert len(pids) == 2
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def test_one_replica_or_a_served_model_needs_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(replicas.REPLICAS)
    assert isinstance(load_engine(fake(), tmp_path, "score"), FakeEngine)
    monkeypatch.setenv(replicas.REPLICAS, "3")
    served = EngineSpec(name="s", kind="openai", model="s", base_url="http://localhost:1/v1")
    assert not isinstance(load_engine(served, tmp_path, "generate"), Replicas)
    assert (width(fake()), width(served), width(None)) == (3, 1, 1)


@pytest.mark.parametrize("value", ["none", "0", "-1", "1.5"])
def test_invalid_number_of_replicas_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(replicas.REPLICAS, value)
    with pytest.raises(EngineError, match=f"CULTUREMETER_REPLICAS is '{value}': give a number of copies"):
        width(fake())


def test_replicas_divide_gpus_or_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(devices, "cores", lambda: 8)
    assert environment_of([], 0, 3, 0)["OMP_NUM_THREADS"] == "2"
    gpus = ["0", "1", "GPU-abc", "3"]

    def visible(each: float, n: int) -> list[str]:
        return [environment_of(gpus, each, n, index)["CUDA_VISIBLE_DEVICES"] for index in range(n)]

    assert visible(1, 4) == gpus
    assert visible(2, 2) == ["0,1", "GPU-abc,3"]
    assert visible(0.5, 4) == ["0", "0", "1", "1"]
    assert "CUDA_VISIBLE_DEVICES" not in environment_of([], 0, 2, 0)


def test_more_replicas_than_gpus_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "visible_gpus", lambda: ["0", "1", "2"])
    spec = EngineSpec(
        name="large", kind="vllm", model="x/y", revision="0" * 40, dtype="bfloat16", tensor_parallel=2
    )
    with pytest.raises(EngineError, match=r"'large': 2 replicas of 2 GPUs each do not fit on 3: lower --rep"):
        load_engine(spec, tmp_path, "generate")
    with pytest.raises(EngineError, match='for replicas set "cuda"'):
        load_engine(spec.model_copy(update={"device": "cuda:1"}), tmp_path, "generate")


@pytest.mark.heavy
def test_memory_of_every_replica_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "2")
    kept = load_engine(fake(options={"memory_gib": 0.5}), tmp_path, "score")
    assert load_engine(fake(options={"memory_gib": 0.5}), tmp_path, "score") is kept
    load_engine(fake(name="other", options={"memory_gib": 0.6}), tmp_path, "score")
    assert all(copy.process.returncode == 0 for copy in kept.copies)  # 2 x 0.5 + 2 x 0.6 > 2: closed


def test_missing_ray_is_an_error_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install '\.\[ray\]'"):
        connected("localhost:1")


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_closed_cluster_address_is_an_error_before_ray_waits(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray itself tries for two minutes to connect."""
    ray = SimpleNamespace(is_initialized=lambda: False, exceptions=SimpleNamespace(RayError=LookupError))
    monkeypatch.setitem(sys.modules, "ray", ray)  # init is missing: a call of it would be another error
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # bound and not listening, so connections are refused
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(EngineError, match=re.escape(f"no Ray cluster at '{address}'")):
            connected(address)


class Ray(SimpleNamespace):
    """A cluster whose nodes change with each look; the last state stays."""

    looks: list[list[dict[str, Any]]]

    def nodes(self) -> list[dict[str, Any]]:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def node(alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"Alive": alive, "Resources": resources}


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the waits, in seconds, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(copies.time, "sleep", waited.append)
    return waited


def test_ray_cluster_without_a_large_enough_node_is_an_error(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float]
) -> None:
    there = [node(CPU=4, GPU=1), node(CPU=4, GPU=1), node(GPU=8), node(False, CPU=4, GPU=8)]
    monkeypatch.setitem(sys.modules, "ray", Ray(looks=[there]))
    with pytest.raises(EngineError, match=r"no node .* 1 CPU and 2 GPUs \(nodes: 4 CPUs and 1 GPUs, "):
        copies.wait_for_room(2)
    assert sum(seconds) < 10


def test_starting_ray_node_is_waited_for(monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
    monkeypatch.setitem(sys.modules, "ray", Ray(looks=[[], [node(CPU=1)], [node(CPU=1, GPU=2)]]))
    copies.wait_for_room(2)
    assert len(seconds) == 2


def test_placement_of_replicas_is_not_in_the_engine_hash() -> None:
    plain = EngineSpec(name="m", kind="vllm", model="x/y", content="x", dtype="bfloat16")
    assert plain.model_copy(update={"tensor_parallel": 4, "gpus": 4.0}).hash() == plain.hash()
    with pytest.raises(ValueError, match='needs kind = "vllm"'):
        fake(tensor_parallel=2)
