"""Several copies of an engine behind its protocols, on this machine or on a Ray cluster (``copies``).

Their number is given (``--replicas``), or the loop places copies on devices, one after another (``place``).

Callers use a proxy. Each call goes to a free copy, so there are as many calls at once as copies; the choice
of the copy does not affect the result. A copy that dies is restarted; its call raises ``ReplicaLost``, and
the caller retries it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from threading import Semaphore, Thread
from typing import Any

from numpy.typing import NDArray

from tasks.engines import load
from tasks.engines.copies import Actor, Copy, Process, ReplicaLost, connected, wait_for_room
from tasks.engines.local import devices, embedded, memory
from tasks.engines.protocols import (
    Ability,
    Alternatives,
    CandidateScores,
    Cloze,
    Conversations,
    EngineError,
    Framed,
    Generation,
    Jobs,
    PairScores,
    Progress,
    Samplings,
    Schemas,
    TextPair,
)
from tasks.engines.specs import WITHOUT_WEIGHTS, EngineSpec

REPLICAS, RAY = "CULTUREMETER_REPLICAS", "CULTUREMETER_RAY"
"""Environment variables: the number of copies, and the address of their Ray cluster."""
PATIENCE_SECONDS = 600.0
"""Seconds to wait for a copy to restart when all have died."""


def use(replicas: int | None = None, ray: str | None = None) -> None:
    """Load engines in this number of copies from now on, in this process and its children."""
    os.environ |= {name: str(value) for name, value in ((REPLICAS, replicas), (RAY, ray)) if value}


def wanted() -> int:
    """Return the number of copies of each model that the variable asks for.

    Raises:
        EngineError: it is not a number of copies.
    """
    value = os.environ.get(REPLICAS) or "1"
    if not value.isdecimal() or int(value) < 1:
        raise EngineError(f"{REPLICAS} is {value!r}: give a number of copies of a model, such as 2")
    return int(value)


def width(spec: EngineSpec | None) -> int:
    """Return the number of calls of an engine at once: one per copy. A server or embedder has one.

    Raises:
        EngineError: see ``wanted``.
    """
    n = wanted()
    return 1 if spec is None or spec.is_served else n


def place(spec: EngineSpec, cache: Path, where: Sequence[str], unit: str, n_devices: int) -> None:
    """Begin one more copy of an engine, which ``load_engine`` returns from then on.

    Args:
        where: its devices; a node of the cluster is chosen by Ray.
        unit, n_devices: of the node (``placement``).
    """
    key = spec.model_dump_json()
    _displaced.discard(key)
    pool = _placed.setdefault(key, Replicas(spec, []))
    if address := os.environ.get(RAY):
        connected(address)
        each = spec.gpus or len(where)
        wait_for_room(each)
        pool.add(Actor(spec, cache, each))
    else:
        pool.add(Process(spec, cache, environment_on(where, unit, n_devices)))


def environment_on(where: Sequence[str], unit: str, n_devices: int) -> dict[str, str]:
    """Return the environment of a placed copy: its GPUs and its share of the cores, or its cores."""
    alone = {REPLICAS: "", RAY: ""}
    if unit == "core":
        return alone | {"OMP_NUM_THREADS": str(len(where))}
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, len(where) * devices.cores() // n_devices))
    return alone | {"CUDA_VISIBLE_DEVICES": ",".join(where), "OMP_NUM_THREADS": threads}


def displace(spec: EngineSpec) -> None:
    """End all placed copies of an engine at once; their calls raise EngineError."""
    key = spec.model_dump_json()
    if pool := _placed.pop(key, None):
        _displaced.add(key)
        for copy in pool.copies:
            copy.kill()


def forget_displaced() -> None:
    """Let engines be loaded in this process again, though they had been placed."""
    _displaced.clear()


def placed(spec: EngineSpec | None) -> Replicas | None:
    """Return the placed copies of an engine; None if it is not placed."""
    return _placed.get(spec.model_dump_json()) if spec and _placed else None


def load_engine(spec: EngineSpec, cache: Path, ability: Ability, jobs: Jobs | None = None) -> Any:
    """Return ``load.load``'s engine, or a proxy if several copies or a cluster are requested.

    Raises:
        EngineError: see ``load.load`` and ``copies.connected``; or there are too few GPUs for the copies.
    """
    if pool := placed(spec):
        load.check_ability(spec, ability)
        return pool
    if spec.model_dump_json() in _displaced:  # a late call must not load it beside others on their devices
        raise EngineError(f"model {spec.name!r} has no place any more")
    address, n = os.environ.get(RAY), width(spec)
    if spec.is_served or (n == 1 and not address):
        return load.load(spec, cache, ability, jobs)
    load.check_ability(spec, ability)
    spec = load.resolved_for(spec, _key(spec, cache, n, address), cache)
    if ":" in spec.device:
        raise EngineError(f'model {spec.name!r}: device {spec.device!r} is one GPU: for replicas set "cuda"')
    key = _key(spec, cache, n, address)
    return load.cached(
        key, partial(_claim, spec, cache, n, address), partial(_build, spec, cache, n, address)
    )


def fits(spec: EngineSpec, cache: Path) -> bool:
    """Return whether all copies are loaded, or can be loaded without unloading another engine."""
    address, n = os.environ.get(RAY), width(spec)
    if spec.is_served or (n == 1 and not address):
        return load.fits(spec, cache)
    spec = load.resolved_for(spec, _key(spec, cache, n, address), cache)
    return load.claim_fits(_key(spec, cache, n, address), partial(_claim, spec, cache, n, address))


def _key(spec: EngineSpec, cache: Path, n: int, address: str | None) -> str:
    return f"{cache.resolve()} {spec.model_dump_json()} {n} {address}"


def _claim(spec: EngineSpec, cache: Path, n: int, address: str | None) -> memory.Claim:
    """Return the claim of n copies on their shared device: this machine's memory, or a cluster's GPUs."""
    each, gpus = _gpus_of_each(spec, cache, n, address)
    if address:
        return memory.Claim("ray", int(n * each * memory.GIB), int(gpus * memory.GIB))
    claim = memory.of_engine(spec, embedded.resolve(spec, cache))
    n_beside = max(1, int(1 / each)) if each else n
    return memory.Claim(claim.device, claim.bytes * n_beside, gpus=max(1, int(each)))


def _build(spec: EngineSpec, cache: Path, n: int, address: str | None) -> Replicas:
    """Return the proxy of n copies, which load at their first calls."""
    each, _ = _gpus_of_each(spec, cache, n, address)
    if address:
        wait_for_room(each)
        return Replicas(spec, [Actor(spec, cache, each) for _ in range(n)])
    gpus = _visible_gpus(spec)
    return Replicas(spec, [Process(spec, cache, environment_of(gpus, each, n, i)) for i in range(n)])


def _gpus_of_each(spec: EngineSpec, cache: Path, n: int, address: str | None) -> tuple[float, float]:
    """Return the GPUs per copy, and all GPUs; read when copies are made, because clusters change.

    On a cluster, whose memory is unknown, a model that is too large for a GPU needs their number in its spec.

    Raises:
        EngineError: there are too few.
    """
    gpus = connected(address).get("GPU", 0.0) if address else float(len(_visible_gpus(spec)))
    uses_gpus = gpus and spec.device != "cpu" and spec.kind not in WITHOUT_WEIGHTS
    each = (spec.gpus or spec.tensor_parallel) if uses_gpus else 0.0
    if each == 1 and spec.kind == "packed_trie" and not address:
        each = memory.own_gpus(spec, embedded.resolve(spec, cache))
    if n * each > gpus:
        raise EngineError(
            f"model {spec.name!r}: {n} replicas of {each:g} GPUs each do not fit on {gpus:g}: lower "
            "--replicas, or set gpus = 0.5 in its spec to let two share one"
        )
    return each, gpus


def environment_of(gpus: Sequence[str], each: float, n: int, index: int) -> dict[str, str]:
    """Return the environment of one of n copies on this machine: its GPUs and its share of the cores."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, devices.cores() // n))
    environment = {REPLICAS: "", RAY: "", "OMP_NUM_THREADS": threads}
    first = int(index * each)
    return environment | (
        {"CUDA_VISIBLE_DEVICES": ",".join(gpus[first : first + max(1, int(each))])} if each else {}
    )


def _visible_gpus(spec: EngineSpec) -> list[str]:
    """Return the GPUs of this machine that an engine may use."""
    return [] if spec.kind in WITHOUT_WEIGHTS or spec.device == "cpu" else devices.visible_gpus()


class Replicas:
    """The copies of an engine, behind all its protocols; progress is reported at the end of a call."""

    def __init__(self, spec: EngineSpec, copies: Sequence[Copy]) -> None:
        """Take copies, which load at their first calls."""
        self.spec, self.copies = spec, list[Copy]()
        self.turns = Semaphore(0)
        """One for each copy: who has one finds a copy free, or waits for a dead one."""
        self._free: Queue[Copy] = Queue()
        self._dead: list[Copy] = []
        for copy in copies:
            self.add(copy)

    def add(self, copy: Copy) -> None:
        """Add a copy, which gets the next call."""
        self.copies.append(copy)
        self._free.put(copy)
        self.turns.release()

    def frame(self, questions: Sequence[str]) -> Framed:
        """Implement ``Scorer.frame``."""
        framed: Framed = self._call("frame", questions)
        return framed

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[Any]:
        """Implement ``Scorer.count_tokens``."""
        counts: NDArray[Any] = self._call("count_tokens", prefix, continuations)
        return counts

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[Any]:
        """Implement ``Scorer.score``."""
        scores: NDArray[Any] = self._call("score", prefixes, continuations)
        if progress:
            progress(scores.size)
        return scores

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[Any]]:
        """Implement ``Scorer.score_each``."""
        scores: list[NDArray[Any]] = self._call("score_each", prefixes, continuations)
        if progress:
            progress(sum(map(len, scores)))
        return scores

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates``."""
        scores: CandidateScores = self._call("score_candidates", cloze, candidates)
        if progress:
            progress(scores.logprob.size)
        return scores

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Implement ``PairScorer.score_pairs``."""
        scores: PairScores = self._call("score_pairs", pairs)
        if progress:
            progress(len(pairs))
        return scores

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Implement ``Generator.generate``."""
        generations: list[Generation] = self._call(
            "generate", conversations, samplings, schemas, alternatives
        )
        return generations

    def close(self) -> None:
        """End all copies."""
        for copy in self.copies:
            copy.close()

    def _call(self, method: str, *arguments: Any) -> Any:
        """Return a copy's answer to a call.

        Raises:
            ReplicaLost: the copy died. Anything else: as the engine raised it.
        """
        copy = self._take()
        try:
            answer = copy.call(method, arguments)
        except ReplicaLost:
            self._dead.append(copy)
            Thread(target=self._revive, args=(copy,), daemon=True).start()
            raise
        except BaseException:
            self._free.put(copy)
            raise
        self._free.put(copy)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _take(self) -> Copy:
        """Return a free copy; wait for one, but at most ``PATIENCE_SECONDS`` if all have died."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._free.get(timeout=1)
            except Empty:
                if len(self._dead) < len(self.copies):
                    deadline = time.monotonic() + PATIENCE_SECONDS
                elif time.monotonic() > deadline:
                    raise EngineError(
                        f"all replicas of {self.spec.name!r} died and none restarted in "
                        f"{PATIENCE_SECONDS:.0f} s: check the nodes, then run again (answers are stored)"
                    ) from None

    def _revive(self, copy: Copy) -> None:
        copy.revive()
        self._dead.remove(copy)
        self._free.put(copy)


_placed: dict[str, Replicas] = {}
"""Placed engines, by spec."""
_displaced: set[str] = set()
"""Specs of engines that had a place."""
