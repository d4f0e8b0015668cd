"""The measured speed of fake engines that take a known time per call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

from tasks.engines import fake
from tasks.engines.specs import EngineSpec
from tasks.loop import probe
from tasks.loop.items import ItemScores
from tasks.loop.plan import PlanLine, Wanted, lay_out
from tasks.loop.requests import Engine
from warehouse import Warehouse


class Clock:
    """A clock that only the delays of fake engines move."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the probe and of fake engines."""
    clock = Clock()
    monkeypatch.setattr(probe, "time", clock)
    monkeypatch.setattr(fake, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def warehouse(warehouse: Warehouse) -> Warehouse:
    """The warehouse of the engines; nothing may be stored in it."""
    return warehouse


@dataclass(frozen=True, kw_only=True)
class Counted(ItemScores):
    """Remembers which units an engine was asked about."""

    asked: list[str] = field(default_factory=list, compare=False)

    def compute(self, engine: Any, units: Sequence[str], progress: Any) -> pl.DataFrame:
        self.asked.extend(units)
        return super().compute(engine, units, progress)


def line(n_units: int, delay: float, **engine: Any) -> PlanLine:
    """Return work on ``n_units`` countries and ten items, for an engine that waits this long per call."""
    fields = {"kind": "fake", "options": {"delay": delay}, **engine}
    spec = EngineSpec(name="fake", model="fake", **fields)
    questions = {f"c{n:02}": f"Question {n}?" for n in range(n_units)}
    request = Counted(
        topic="t", label="q", questions=questions, items=tuple("abcdefghij"), about=["x"], batch=16
    )
    wanted = Wanted("fake", request, Engine.of(spec))
    units = pl.DataFrame({"request_hash": [wanted.request_hash] * n_units, "unit": list(questions)})
    (planned,) = lay_out([wanted], {"item_logprob": units}).lines
    return planned


def test_the_speed_is_that_of_the_fastest_call_and_nothing_is_stored(warehouse: Warehouse) -> None:
    slow = line(7, 0.2)
    rate = probe.speed(slow)
    assert rate is not None
    # The last call is the fastest: 4 units of 10 items in 0.2 s.
    assert rate == pytest.approx(4 * 10 / 0.2)
    assert slow.work[0].wanted.request.asked == [f"c{n:02}" for n in range(7)]  # type: ignore[attr-defined]
    assert warehouse.query("SELECT count(*) AS n FROM part_unit")["n"][0] == 0


def test_only_the_first_part_is_tried() -> None:
    much = line(40, 0.0)
    assert probe.speed(much)
    assert len(much.work) == 3
    assert len(much.work[0].wanted.request.asked) == 16  # type: ignore[attr-defined]


def test_a_probe_ends_when_its_time_is_up_also_within_a_call(clock: Clock) -> None:
    slow = line(16, 0.3)
    assert probe.speed(slow, seconds=0.2) is None
    assert clock.now == 0.3
    assert slow.work[0].wanted.request.asked == ["c00"]  # type: ignore[attr-defined]


def test_only_whole_calls_after_the_first_count() -> None:
    assert probe.speed(line(16, 0.3), seconds=0.35) is None  # the second is interrupted
    assert probe.speed(line(16, 0.3), seconds=0.65) == pytest.approx(2 * 10 / 0.3)
    assert probe.speed(line(1, 0.3)) is None


def test_an_engine_that_fails_has_no_speed() -> None:
    assert probe.speed(line(2, 0.0, options={"no such option": 1})) is None
    assert probe.speed(line(0, 0.0)) is None
