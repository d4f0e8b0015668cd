"""Placement over devices, as properties of random sets of engines that work on random nodes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.loop.placement import Copy, Job, Need, Node, arranged, fits, forecast, place

GPUS = Node("GPU", {"0": 80, "GPU-1": 80, "MIG-2": 40, "3": 80})


@dataclass
class Engine:
    """An engine of a random set.

    Attributes:
        job: with the parts that can be worked on now.
        turns: parts of each further turn of its dialogue, or each time a judge gets more.
        fails_at: number of parts after which it fails; None: it does not.
    """

    job: Job
    turns: list[int]
    fails_at: int | None
    n_done: int = 0


@st.composite
def sets(draw: st.DrawFn) -> tuple[Node, list[Engine], int]:
    """Return a node, engines that each fit it alone, and a seed of the order in which parts end."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    host = draw(st.sampled_from([0, 20]))
    node = Node("GPU", {str(i): 20 * size for i, size in enumerate(sizes)}, host, draw(st.integers(1, 3)))
    engines = []
    for number in range(draw(st.integers(1, 12))):
        n = draw(st.integers(1, len(sizes)))
        most = sorted(node.devices.values(), reverse=True)[n - 1]
        need = Need(n, draw(st.integers(1, most)), draw(st.integers(0, host)))
        turns, rank = draw(st.lists(st.integers(1, 3), max_size=3)), draw(st.integers(0, 2))
        is_kept = bool(turns) and rank < 2
        job = Job(
            f"e{number}", need, draw(st.integers(0, 6)), rank, draw(st.integers(1, 4)), is_kept,
            is_expected=is_kept and rank == 0,
        )  # fmt: skip
        engines.append(Engine(job, turns, draw(st.one_of(st.none(), st.integers(0, 5)))))
    return node, engines, draw(st.integers(0, 2**16))


def free_bytes(node: Node, copies: Sequence[Copy], device: str) -> int:
    """Return what is free on a device; -1 if no copy may come beside those there."""
    there = [copy for copy in copies if device in copy.devices]
    return node.devices[device] - sum(c.need.each for c in there) if len(there) < node.beside else -1


def has_place(node: Node, copies: Sequence[Copy], job: Job) -> bool:
    """Return whether a copy would fit, by counting."""
    own = {device for copy in copies if copy.engine == job.engine for device in copy.devices}
    n = sum(free_bytes(node, copies, d) >= job.need.each for d in node.devices if d not in own)
    return n >= job.need.devices and sum(c.need.host for c in copies) + job.need.host <= node.host


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(sets())
def test_no_device_is_overcommitted_nothing_waits_in_vain_and_all_work_is_done(
    drawn: tuple[Node, list[Engine], int],
) -> None:
    play(*drawn)


@pytest.mark.heavy
@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(sets())
def test_the_same_for_a_thousand_sets(drawn: tuple[Node, list[Engine], int]) -> None:
    play(*drawn)


def play(node: Node, engines: list[Engine], seed: int) -> None:
    """Play a run, part by part, and check every state of the devices."""
    order, copies = random.Random(seed), list[Copy]()
    for _ in range(1000):
        jobs = [engine.job for engine in engines]
        ended, begun = arranged(node, copies, jobs)
        assert set(ended) <= set(copies)
        by_name = {job.engine: job for job in jobs}
        assert not any(by_name[copy.engine].parts for copy in ended), "work was interrupted"
        copies = [copy for copy in copies if copy not in ended] + begun
        for device in node.devices:
            there = [copy for copy in copies if device in copy.devices]
            assert sum(copy.need.each for copy in there) <= node.devices[device]
            assert len(there) <= node.beside
        assert sum(copy.need.host for copy in copies) <= node.host
        assert all(len(set(copy.devices)) == copy.need.devices for copy in copies)

        busy = [copy for copy in copies if by_name[copy.engine].parts]
        kept = [copy for copy in copies if not by_name[copy.engine].parts and by_name[copy.engine].is_kept]
        waiting = [job for job in jobs if job.parts and not any(c.engine == job.engine for c in copies)]
        assert not any(has_place(node, [*busy, *kept], job) for job in waiting), "a place is free"
        for job in jobs:
            n = sum(copy.engine == job.engine for copy in copies)
            assert n <= job.most
            if job.parts and 0 < n < min(job.most, job.parts) and not waiting:
                assert not has_place(node, [*busy, *kept], job), "a device idles beside work"
        if not busy:
            assert not waiting
            later = [engine for engine in engines if engine.turns]
            if not later:
                break
            _speak(order.choice(later))  # the planner has another turn
            continue
        chosen = order.choice(busy).engine
        _work(next(engine for engine in engines if engine.job.engine == chosen))
        later = [engine for engine in engines if engine.turns and not engine.job.parts]
        if later and order.random() < 0.5:
            _speak(order.choice(later))
    assert not any(engine.job.parts or engine.turns for engine in engines)


def _speak(engine: Engine) -> None:
    engine.job = replace(engine.job, parts=engine.job.parts + engine.turns.pop())


def _work(engine: Engine) -> None:
    """End a part; an engine that fails gives up the rest."""
    engine.n_done += 1
    left = engine.job.parts - 1
    if engine.fails_at is not None and engine.n_done > engine.fails_at:
        engine.turns.clear()
        left = 0
    engine.job = replace(engine.job, parts=left, is_kept=engine.job.is_kept and bool(engine.turns))


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(sets(), st.data())
def test_a_forecast_does_all_work_and_overcommits_nothing(
    drawn: tuple[Node, list[Engine], int], data: st.DataObject
) -> None:
    node, engines, _ = drawn
    jobs = [replace(engine.job, is_kept=False, is_expected=False) for engine in engines]
    seconds = {job.engine: data.draw(st.floats(1, 100)) for job in jobs}
    planned = forecast(node, jobs, seconds)
    for moment in {each.start for each in planned}:
        at_work = [each.copy for each in planned if each.start <= moment < each.end]
        for device, size in node.devices.items():
            assert sum(copy.need.each for copy in at_work if device in copy.devices) <= size
    for job in jobs:
        own = [each for each in planned if each.copy.engine == job.engine]
        assert bool(own) == bool(job.parts)
        if own:  # copies beside others are slower, never faster
            assert sum(each.end - each.start for each in own) >= 0.999 * seconds[job.engine]


def job(name: str, devices: int, each: int, parts: int = 4, **more: object) -> Job:
    return Job(name, Need(devices, each), parts, **more)  # type: ignore[arg-type]


def test_large_and_small_models_of_one_command_work_side_by_side() -> None:
    """A model on three GPUs comes first; two small ones share what is left, the last waits."""
    jobs = [job("s", 1, 30), job("big", 3, 80), job("t", 1, 10), job("u", 1, 10)]
    ended, begun = arranged(GPUS, [], jobs)
    assert not ended
    assert {copy.engine: copy.devices for copy in begun} == {
        "big": ("0", "GPU-1", "3"), "s": ("MIG-2",), "t": ("MIG-2",),
    }  # fmt: skip
    done = [replace(each, parts=0) if each.engine == "big" else each for each in jobs]
    ended, begun = arranged(GPUS, begun, done)
    assert ([copy.engine for copy in ended], [copy.engine for copy in begun]) == (["big"], ["u"])
    assert begun[0].devices == ("0",)


def test_free_gpus_get_copies_of_the_model_with_most_work() -> None:
    node = Node("GPU", dict.fromkeys("0123", 80))
    _, begun = arranged(node, [], [job("a", 1, 70, 9, most=4), job("b", 1, 70, 2, most=4)])
    assert sorted(copy.engine for copy in begun) == ["a", "a", "a", "b"]
    assert sorted(device for copy in begun for device in copy.devices) == list("0123")
    _, begun = arranged(node, [], [job("a", 1, 70, 2, most=4)])
    assert len(begun) == 2, "more copies than parts"


def test_a_simulator_keeps_its_place_between_turns_unless_all_would_wait() -> None:
    node = Node("GPU", {"0": 80})
    model, other = job("m", 1, 60, is_kept=True), job("n", 1, 60)
    simulator = job("s", 1, 60, 0, rank=0, is_kept=True, is_expected=True)
    _, begun = arranged(node, [], [simulator])
    assert [copy.engine for copy in begun] == ["s"]
    ended, begun = arranged(node, begun, [model, simulator], is_settled=False)
    assert (ended, begun) == ([], []), "the next turn may come"
    held = [Copy("s", ("0",), simulator.need)]
    ended, begun = arranged(node, held, [model, simulator])
    assert ([c.engine for c in ended], [c.engine for c in begun]) == (["s"], ["m"])
    ended, begun = arranged(node, begun, [model, other, simulator])
    assert (ended, begun) == ([], []), "work is not interrupted"


@pytest.mark.parametrize("seconds", [(100.0, 100.0, 40.0), (30.0, 20.0, 10.0)])
def test_a_forecast_by_hand(seconds: tuple[float, float, float]) -> None:
    """Two GPUs, three models: the third takes the first place that is free."""
    node = Node("GPU", {"0": 80, "1": 80}, beside=1)
    names = dict(zip("abc", seconds, strict=True))
    planned = {
        each.copy.engine: each
        for each in forecast(node, [job("a", 1, 70, 9), job("b", 1, 60, 9), job("c", 1, 50, 9)], names)
    }
    a, b, c = seconds
    assert (planned["a"].start, planned["a"].end) == (0, a)
    assert planned["c"].start == pytest.approx(min(a, b))
    assert planned["c"].end == pytest.approx(min(a, b) + c)


def test_two_engines_on_one_device_share_its_speed() -> None:
    planned = forecast(Node("GPU", {"0": 80}), [job("a", 1, 30), job("b", 1, 30)], {"a": 10.0, "b": 30.0})
    ends = {each.copy.engine: each.end for each in planned}
    assert ends == {"a": pytest.approx(20), "b": pytest.approx(40)}


def test_nothing_larger_than_the_node_has_a_place() -> None:
    assert not fits(GPUS, Need(5, 1))
    assert not fits(GPUS, Need(4, 41))
    assert fits(GPUS, Need(3, 80))
    assert place(GPUS, [], job("a", 4, 40)) == ("0", "GPU-1", "MIG-2", "3")
