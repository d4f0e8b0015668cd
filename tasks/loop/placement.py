"""Which copies of engines work on which devices at once. Pure: the loop asks, and begins and ends the copies.

A *node* has devices, GPUs or cores. A *copy* of an engine takes some of them, alone or beside another. After
every change ``arranged`` says which copies end and which begin:

- An engine with work gets a place wherever one is free: simulators first, then models, then judges, and the
  larger first, so that small ones fill the gaps.
- Copies without work leave for engines that wait. Those in a dialogue, whose next turn may come soon, leave
  only if otherwise nothing would work.
- While none waits, a free place gets a further copy of the engine with the most work for each of its copies.

``forecast`` plays a run with the same function, so the plan shows what the run will do.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

BESIDE = 2
"""Most copies on one GPU: while one prepares its texts on the processor, the other computes."""


@dataclass(frozen=True)
class Need:
    """The devices and memory that one copy of an engine takes.

    Attributes:
        devices: number of devices. each: bytes on each of them; of a core, 1: all of it.
        host: bytes of this machine's own memory.
    """

    devices: int
    each: int
    host: int = 0


@dataclass(frozen=True)
class Node:
    """The devices that a run may use.

    Attributes:
        unit: "GPU", "core", or "Ray GPU", whose node Ray chooses.
        devices: name, as in CUDA_VISIBLE_DEVICES, -> bytes that engines may take there.
        host: bytes of this machine's own memory that engines on cores may take.
        beside: most copies on one device.
    """

    unit: str
    devices: Mapping[str, int]
    host: int = 0
    beside: int = BESIDE


@dataclass(frozen=True)
class Copy:
    """A copy of an engine on its devices; an engine has at most one on each."""

    engine: str
    devices: tuple[str, ...]
    need: Need


@dataclass(frozen=True)
class Job:
    """An engine's work.

    Attributes:
        parts: number of parts that are not stored.
        rank: the lower come first. most: most copies.
        is_kept: it is in a dialogue, whose next turn may come.
        is_expected: it gets a free place before it has work.
    """

    engine: str
    need: Need
    parts: int
    rank: int = 0
    most: int = 1
    is_kept: bool = False
    is_expected: bool = False


@dataclass(frozen=True)
class Placement:
    """The node of a run, and what its engines need there, by hash; other engines are not placed."""

    node: Node
    needs: Mapping[str, Need] = field(default_factory=dict)
    most: int = 1


@dataclass(frozen=True)
class Stretch:
    """A copy's time on its devices, in seconds since the run's start."""

    copy: Copy
    start: float
    end: float


def place(node: Node, copies: Sequence[Copy], job: Job) -> tuple[str, ...]:
    """Return devices for one more copy: those with the fewest copies, then with the most free memory.

    () if there is no place beside the copies that are there.
    """
    need, free, n = job.need, dict(node.devices), Counter[str]()
    own = {device for copy in copies if copy.engine == job.engine for device in copy.devices}
    for copy in copies:
        for device in copy.devices:
            free[device] -= copy.need.each
            n[device] += 1
    if sum(copy.need.host for copy in copies) + need.host > node.host:
        return ()
    able = [d for d in node.devices if free[d] >= need.each and n[d] < node.beside and d not in own]
    chosen = sorted(able, key=lambda device: (n[device], -free[device]))[: need.devices]
    return tuple(d for d in node.devices if d in chosen) if len(chosen) == need.devices else ()


def arranged(
    node: Node, copies: Sequence[Copy], jobs: Sequence[Job], is_settled: bool = True
) -> tuple[list[Copy], list[Copy]]:
    """Return the copies that end, and those that begin once they have ended.

    Args:
        copies: those that are there. jobs: one for each engine.
        is_settled: no further work is being planned, so a kept engine whose work is done would wait in vain.
    """
    by_name = {job.engine: job for job in jobs}
    held, begun = list(copies), list[Copy]()
    waiting = [job for job in jobs if not any(copy.engine == job.engine for copy in held)]
    waiting.sort(key=lambda j: (j.rank, -j.need.devices, -j.need.each, -j.parts, j.engine))

    def idle(*, kept: bool) -> list[Copy]:
        jobs_of = ((copy, by_name.get(copy.engine)) for copy in held)
        return [c for c, job in jobs_of if not (job and job.parts) and bool(job and job.is_kept) == kept]

    def begin(job: Job, idle_copies: Sequence[Copy]) -> bool:
        for n in range(len(idle_copies) + 1):
            left = [copy for copy in held if copy not in idle_copies[:n]]
            if not place(node, left, job):
                continue
            for copy in idle_copies[:n]:  # those that need not leave stay
                if place(node, [*left, copy], job):
                    left.append(copy)
            copy = Copy(job.engine, place(node, left, job), job.need)
            held[:] = [*left, copy]
            begun.append(copy)
            return True
        return False

    def is_still() -> bool:
        return is_settled and not any(by_name[c.engine].parts for c in held if c.engine in by_name)

    without = list[Job]()
    for job in waiting:
        if job.parts and not begin(job, idle(kept=False)):
            if not (is_still() and begin(job, [*idle(kept=False), *idle(kept=True)])):
                without.append(job)
        elif not job.parts and job.is_expected:
            begin(job, [])
    n_copies = Counter(copy.engine for copy in held)
    more = [job for job in jobs if n_copies[job.engine] and not without]
    while able := [job for job in more if n_copies[job.engine] < min(job.most, job.parts)]:
        job = max(able, key=lambda job: (job.parts / n_copies[job.engine], job.engine))
        if begin(job, idle(kept=False)):
            n_copies[job.engine] += 1
        else:
            more.remove(job)
    return [copy for copy in copies if copy not in held], [copy for copy in begun if copy in held]


def fits(node: Node, need: Need) -> bool:
    """Return whether an empty node has a place."""
    return bool(place(node, (), Job("", need, 1)))


def forecast(node: Node, jobs: Sequence[Job], seconds: Mapping[str, float]) -> list[Stretch]:
    """Return when each copy works, if all work is known now; copies on one device share its speed.

    Args:
        seconds: that one copy of each engine with work takes for all of it, alone on its devices.
    """
    left = {job.engine: seconds[job.engine] for job in jobs if job.parts}
    jobs = [job for job in jobs if job.engine in left]
    copies, begun, done, now = list[Copy](), dict[Copy, float](), list[Stretch](), 0.0
    while left:
        current = [replace(j, parts=_parts_left(j, left, seconds)) for j in jobs if j.engine in left]
        ended, new = arranged(node, copies, current)
        copies = [copy for copy in copies if copy not in ended] + new
        begun |= dict.fromkeys(new, now)
        rates = defaultdict[str, float](float)
        for copy, rate in _rates(copies):
            rates[copy.engine] += rate
        if not (times := [left[name] / rate for name, rate in rates.items() if name in left]):
            break  # what is left fits nowhere
        step = min(times)
        now += step
        left = {name: rest - step * rates[name] for name, rest in left.items()}
        left = {name: rest for name, rest in left.items() if rest > 1e-9 * seconds[name]}
        over = [copy for copy in copies if copy.engine not in left]
        done += [Stretch(copy, begun.pop(copy), now) for copy in over]
        copies = [copy for copy in copies if copy.engine in left]
    return done


def _parts_left(job: Job, left: Mapping[str, float], seconds: Mapping[str, float]) -> int:
    return max(1, math.ceil(job.parts * left[job.engine] / (seconds[job.engine] or 1)))


def _rates(copies: Sequence[Copy]) -> Iterator[tuple[Copy, float]]:
    """Yield each copy with its speed, as a share of its speed alone."""
    n = Counter(device for copy in copies for device in copy.devices)
    for copy in copies:
        yield copy, 1 / max(n[device] for device in copy.devices)
