"""How fast an engine is here, tried out on the first units that it is going to be asked about."""

from __future__ import annotations

import time

from tasks import steps
from tasks.engines.protocols import EngineError
from tasks.plan import Line

SECONDS = 5.0
"""The most that a probe may take, beside loading the engine."""


class _TimeIsUp(Exception):  # noqa: N818 - it is no error
    """Ends a call of an engine in its midst."""


class _Count:
    """What was done by when; the first report, of an engine that still warms up, is only a beginning."""

    def __init__(self, seconds: float) -> None:
        self.start = time.perf_counter()
        self.end = self.start + seconds
        self.reports: list[tuple[float, int]] = []

    def __call__(self, n: int) -> None:
        now = time.perf_counter()
        self.reports.append((now, n))
        if now > self.end:
            raise _TimeIsUp

    def rate(self) -> float | None:
        """Per second; None if nothing was done."""
        if not self.reports:
            return None
        since, reports = self.start, self.reports
        if len(reports) > 1:
            since, reports = reports[0][0], reports[1:]
        return sum(n for _, n in reports) / max(reports[-1][0] - since, 1e-9)


def speed(line: Line, seconds: float = SECONDS) -> float | None:
    """How much of its ``size`` an engine answers per second: one unit, two, four … of its first part.

    The engine stays loaded, its answers are thrown away. It is asked about no unit twice, and interrupted
    when the time is up. None: it failed, which the run will report, or there is nothing to try it on.
    """
    if not line.work:
        return None
    request, units = line.work[0].wanted.request, list(line.work[0].units)
    n = 1
    try:
        engine = steps.load_engine(line.engine, request.ability)
        count = _Count(seconds)
        while units and time.perf_counter() < count.end:
            request.answer(engine, units[:n], count)
            units, n = units[n:], 2 * n
    except _TimeIsUp:
        pass
    except EngineError:
        return None
    return count.rate()
