"""Measures an engine's speed on the first units of its work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tasks.engines.protocols import EngineError
from tasks.engines.replicas import width
from tasks.loop import device_memory, steps
from tasks.loop.plan import PlanLine
from tasks.loop.requests import Request

SECONDS = 5.0
"""Most seconds of a probe, without loading the engine."""


class _TimeIsUp(Exception):  # noqa: N818 - not an error
    """Interrupts a call of an engine."""


def speed(line: PlanLine, seconds: float = SECONDS) -> float | None:
    """Return the ``size`` that an engine answers per second, in the fastest of several calls.

    The calls have 1, 2, 4 … units of the first part, each unit once, and stop when the time is up. The first
    call warms the engine up and does not count, nor does one that the end interrupts: larger calls resemble
    those of the run. The engine stays loaded; its answers are dropped. None if no call counts, if the engine
    fails (the run will report it), if no work is left, or if the engine has copies in processes of their own,
    whose calls cannot be interrupted.
    """
    if not line.work or width(line.engine.spec) > 1 or device_memory.node():
        return None
    piece = line.work[0].pieces[0]
    request, units = piece.wanted.request, piece.units
    rates: list[float] = []
    start, n = 0, 1
    try:
        engine = steps.load_engine(line.engine, request.ability)
        end = time.perf_counter() + seconds
        while start < len(units) and time.perf_counter() < end:
            rates.append(_rate(request, engine, units[start : start + n], end))
            start, n = start + n, 2 * n
    except EngineError:
        return None
    return max(rates[1:], default=0.0) or None


def _rate(request: Request[Any], engine: Any, units: Sequence[str], end: float) -> float:
    """Return the ``size`` per second of one call; 0 if it is interrupted, at ``end``."""

    def check(n: int) -> None:
        if time.perf_counter() > end:
            raise _TimeIsUp

    start = time.perf_counter()
    try:
        request.compute(engine, units, check)
    except _TimeIsUp:
        return 0.0
    return request.size(units) / max(time.perf_counter() - start, 1e-9)
