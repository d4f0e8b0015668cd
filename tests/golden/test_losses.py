"""No headline of any evaluation or recipe rises when an answer or a verdict is lost, seen from its net.

A net is worked off in memory. Then the texts of each role are lost, one after another: refused, empty, cut
off or unreadable. A lost text may be counted as wrong, or be unscored. If it is unscored, the mean over the
others may be higher, but the row says so: more points are unscored, and with the worst value for each of them
the headline is not higher than before.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deployments.evaluations import evaluation
from flows.session import build
from tasks.engines.fake import FakeEngine
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Cohort, Completions
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL, Metric
from tests.conftest import REPOSITORY
from tests.golden.harness import EVALUATIONS, FAKES, files_of, net, params_of, write_engine
from warehouse import Warehouse

WITHOUT_TEXT: Mapping[str, Mapping[str, Any]] = {
    "refused": {"text": "", "finish_reason": "refusal"},
    "filtered": {"text": "", "finish_reason": "content_filter"},
    "empty": {"text": " ", "finish_reason": "stop"},
    "cut off": {"text": "", "finish_reason": "length"},
}
UNREADABLE: Mapping[str, Mapping[str, Any]] = {
    "unreadable": {"text": "Well, it depends.", "finish_reason": "stop"},
    "broken": {"text": '{"a": {"verdict": ]}', "finish_reason": "stop"},
    "begun": {"text": '{"verd', "finish_reason": "length"},
}
LOST = {"judge": WITHOUT_TEXT | UNREADABLE}
"""Role -> how its text is lost; of other roles any text is one that can be read, and judged."""
MOST = 12
"""Texts of a role that are lost, one at a time."""

AS_IT_STANDS = {("explication", "interaction"), ("explication", "instruction_following")}
"""Headlines for which a judge reads the conversation as far as it went; the fake judge grades each text at
random, so only what it says of one text can be held against it."""

COUNTED: Mapping[str, tuple[str, ...]] = {
    "culturall": ("accuracy",),
    "cure": ("exact_match", "coverage", "specificity", "connotation", "coherence"),
}
"""Evaluation -> headlines in whose denominator a lost answer is, as docs/intervals.md has them."""

Bounds = Mapping[str, tuple[float, float]]
"""Headline -> its worst and its best value; infinite without a bound."""


def headlines(name: str) -> Bounds:
    """Return the headlines of an evaluation, with direction, from its catalogue."""
    described = evaluation(name).about
    rows: list[Mapping[str, Any]] = list(described.metrics) if described else []
    file = REPOSITORY / "warehouse" / "reference" / "metric" / f"{name}.csv"
    if not rows and file.exists():
        with file.open(encoding="utf-8", newline="") as content:
            rows = list(csv.DictReader(content))
    own = [row for row in rows if str(row["is_headline"]).lower() == "true"]
    return {row["metric"]: _ends(row) for row in own if row["direction"] in ("higher", "lower")}


def _ends(row: Mapping[str, Any]) -> tuple[float, float]:
    low, high = (
        float(row[end]) if row[end] not in (None, "") else limit
        for end, limit in (("range_low", -math.inf), ("range_high", math.inf))
    )
    return (low, high) if row["direction"] == "higher" else (high, low)


@dataclass
class Loop:
    """The rounds of ``flows/evaluation.py`` on a dictionary.

    Attributes:
        lost: (role, unit) -> cells of a text that replace its own.
    """

    name: str
    study: Any
    engines: Mapping[str, Engine]
    store: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)
    roles: dict[tuple[str, str], str] = field(default_factory=dict)
    lost: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def read(self, kind: str, name: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        frames = []
        for unit in units:
            if (frame := self.store.get((name, unit))) is None:
                continue
            cells = self.lost.get((self.roles[name, unit], unit), {}) if kind == "response" else {}
            if cells:
                none = pl.lit(None, pl.String).alias("option_logprobs")
                frame = frame.with_columns(none, **{c: pl.lit(v) for c, v in cells.items()})
            frames.append(frame.select(columns))
        if not frames:
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        return pl.concat(frames, how="vertical_relaxed")

    def rows(self) -> dict[str, Metric]:
        """Return the overall rows of the candidate, after all rounds."""
        of, model = evaluation(self.name), Engine("fake-a", "fake", "fake-a", "fake-a")
        if hasattr(self.study, "progress"):
            self.study.progress.clear()  # conversations up to now
        completions = Completions(model, self.engines, self.read)
        sources = [(of.ask, completions)]
        shared = replace(completions, candidate=None)
        sources += [(of.shared.ask, shared)] if of.shared else []
        while todo := list(self._missing(sources)):
            for request, name, who, unit in todo:
                if (name, unit) in self.store:
                    continue
                engine = self._engine(who)
                self.store[name, unit] = request.compute(engine, [unit], lambda n: None)
                self.roles[name, unit] = request.role
        checks = of.shared.read(self.study, shared) if of.shared else None
        answers = {"fake-a": of.read(self.study, completions, checks)}
        tables = of.rows(self.study, Cohort(answers, answers, {"fake-a": model}), checks)
        return {row.metric: row for row in tables.metrics["fake-a"] if row[1:3] == OVERALL}

    def _missing(self, sources: Sequence[tuple[Any, Completions]]) -> Iterator[tuple[Any, str, Engine, str]]:
        for ask, completions in sources:
            for request in ask(self.study, completions):
                who = completions.engine(request)
                name = request.hash(who)
                for unit in request.units:
                    if (name, unit) not in self.store:
                        yield request, name, who, unit

    def _engine(self, who: Engine) -> Any:
        if who.spec is not None and who.spec.kind == "fake":
            return FakeEngine(who.spec)
        if who.spec is None and who.kind != "fake":
            from tasks.loop.steps import load_engine

            return load_engine(who, "embed")
        return FakeEngine(EngineSpec(name=who.name, kind="fake", model=who.model))

    def texts(self) -> dict[str, list[str]]:
        """Return role -> units of its texts, spread over all."""
        of_role: dict[str, list[str]] = {}
        for (_, unit), frame in ((key, self.store[key]) for key in sorted(self.store)):
            if "finish_reason" in frame.columns:
                of_role.setdefault(next(r for k, r in self.roles.items() if k[1] == unit), []).append(unit)
        return {role: units[:: max(1, len(units) // MOST)][:MOST] for role, units in of_role.items()}


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", EVALUATIONS)
def test_no_headline_rises_when_a_text_is_lost(warehouse: Warehouse, home: Path, name: str) -> None:
    for fake in FAKES:
        write_engine(home, fake)
    net(name).prepare(home, files_of(home, name))
    study, engines, _ = build(evaluation(name), params_of(name, home, models=["fake-a"]))
    loop, bounds = Loop(name, study, engines), headlines(name)
    assert bounds
    before = loop.rows()
    tried = 0
    for role, units in loop.texts().items():
        for unit, (how, cells) in zip(units, cycle(LOST.get(role, WITHOUT_TEXT).items()), strict=False):
            loop.lost = {(role, unit): cells}
            after = loop.rows()
            tried += 1
            for metric, ends in bounds.items():
                if role != "judge" and (name, metric) in AS_IT_STANDS:
                    continue
                own = (before.get(metric), after.get(metric), ends)
                # What a model withholds counts against it; what a judge or simulator withholds is unscored.
                is_higher = rises_at_all(*own) if role == "candidate" else rises(*own)
                assert not is_higher, (metric, role, how, unit)
    assert tried >= 5 or not loop.texts(), "log-probabilities alone: no text can be lost"
    refused = WITHOUT_TEXT["refused"]
    loop.lost = {(role, unit): refused for (_, unit), role in loop.roles.items() if role == "candidate"}
    rows, counted = loop.rows(), COUNTED.get(name, ())
    assert {metric: rows[metric].value for metric in counted} == dict.fromkeys(counted, 0.0)


def rises_at_all(before: Metric | None, after: Metric | None, ends: tuple[float, float]) -> bool:
    """Return whether a headline has a better value after a loss."""
    if before is None or after is None or before.value is None or after.value is None:
        return False
    return (1 if ends[1] > ends[0] else -1) * (after.value - before.value) > 1e-9


def rises(before: Metric | None, after: Metric | None, ends: tuple[float, float]) -> bool:
    """Return whether a headline is better after a loss, also with the worst value for what is unscored."""
    if before is None or after is None or before.value is None or after.value is None:
        return False
    worst, best = ends
    sign = 1 if best > worst else -1
    if not rises_at_all(before, after, ends):
        return False
    more = after.n_unscored - before.n_unscored
    if more <= 0 or not math.isfinite(worst):
        return more <= 0
    floor = (after.value * after.n_scored + worst * more) / (after.n_scored + more)
    return sign * (floor - before.value) > 1e-9
