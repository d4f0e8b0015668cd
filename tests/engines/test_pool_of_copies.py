"""The pool of copies, without processes: which copy serves a call, and how a dead copy is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty
from typing import Any, ClassVar

import pytest

from tasks.engines import replicas
from tasks.engines.copies import ReplicaLost
from tasks.engines.protocols import EngineError
from tasks.engines.replicas import Replicas
from tasks.engines.specs import EngineSpec

SPEC = EngineSpec(name="m", kind="fake", model="m")


class One:
    """A copy that answers with its name, or with `answer`, or raises `fails`."""

    def __init__(self, name: str) -> None:
        self.name, self.revived, self.closed = name, 0, 0
        self.fails: BaseException | None = None
        self.answer: Any = None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        if self.fails:
            raise self.fails
        return self.answer or self.name

    def revive(self) -> None:
        self.revived += 1
        self.fails = None

    def close(self) -> None:
        self.closed += 1


class Later:
    """A thread that the test runs."""

    started: ClassVar[list[Later]] = []

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
        assert daemon
        self.target, self.args = target, args

    def start(self) -> None:
        self.started.append(self)

    def run(self) -> None:
        self.target(*self.args)


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Later]]:
    """Record the threads that would revive copies; the test runs them."""
    monkeypatch.setattr(replicas, "Thread", Later)
    Later.started.clear()
    yield Later.started
    Later.started.clear()


def free(pool: Replicas) -> list[str]:
    """Return the names of the free copies, and take them all."""
    names = []
    while not pool._free.empty():
        names.append(pool._free.get().name)  # type: ignore[attr-defined]
    return sorted(names)


def test_dead_copy_gets_no_calls_until_it_is_revived(threads: list[Later]) -> None:
    a, b = One("a"), One("b")
    pool = Replicas(SPEC, [a, b])
    a.fails = ReplicaLost("it died")
    with pytest.raises(ReplicaLost):
        pool.frame(["?"])
    assert (pool._dead, a.revived, len(threads)) == ([a], 0, 1)
    assert [pool.frame(["?"]) for _ in range(3)] == ["b"] * 3
    threads[0].run()
    assert (pool._dead, a.revived) == ([], 1)
    assert free(pool) == ["a", "b"]


@pytest.mark.parametrize("error", [EngineError("full"), KeyboardInterrupt()])
def test_copy_that_raised_is_free_again(error: BaseException, threads: list[Later]) -> None:
    a = One("a")
    pool = Replicas(SPEC, [a])
    a.fails = error
    with pytest.raises(type(error)):
        pool.frame(["?"])
    assert (free(pool), pool._dead, threads) == (["a"], [], [])


def test_returned_error_is_raised_and_the_copy_is_free() -> None:
    a = One("a")
    pool = Replicas(SPEC, [a])
    a.answer = EngineError("of the engine's")
    with pytest.raises(EngineError, match="of the engine's"):
        pool.frame(["?"])
    assert free(pool) == ["a"]


def test_close_closes_every_copy() -> None:
    copies = [One("a"), One("b")]
    Replicas(SPEC, copies).close()
    assert [one.closed for one in copies] == [1, 1]


class Clock:
    """A clock on which each wait passes at once; a copy is free after `after` seconds."""

    def __init__(self, pool: Replicas, one: One, after: float) -> None:
        self.pool, self.one, self.after, self.now = pool, one, after, 0.0

    def monotonic(self) -> float:
        return self.now

    def get(self, timeout: float) -> One:
        self.now += timeout
        if self.now > self.after:
            return self.one
        raise Empty


def waits(monkeypatch: pytest.MonkeyPatch, n_dead: int, after: float) -> tuple[Clock, Replicas]:
    """Return a pool of two copies of which none is free and `n_dead` are dead, and its clock."""
    copies = [One("a"), One("b")]
    pool = Replicas(SPEC, copies)
    pool._dead = list(copies[:n_dead])
    clock = Clock(pool, copies[0], after)
    monkeypatch.setattr(replicas, "time", clock)
    monkeypatch.setattr(pool, "_free", clock)
    return clock, pool


def test_call_waits_a_limited_time_if_all_copies_are_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = replicas.PATIENCE_SECONDS
    clock, pool = waits(monkeypatch, 2, 10 * patience)
    with pytest.raises(EngineError, match="all replicas of 'm' died"):
        pool._take()
    assert patience < clock.now <= patience + 2
    clock, pool = waits(monkeypatch, 2, patience - 2)
    assert pool._take() is clock.one


def test_call_waits_for_a_working_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pool = waits(monkeypatch, 1, 3 * replicas.PATIENCE_SECONDS)
    assert pool._take() is clock.one
