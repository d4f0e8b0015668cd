"""Show a run's plan: the work left, its highest cost, and its time on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from deployments.cli.bars import duration
from deployments.show.display import print_table, say, working
from tasks.engines.protocols import Generation
from tasks.engines.specs import EngineSpec, cost, has_weights
from tasks.loop.plan import Plan, PlanLine, thinking_of
from tasks.loop.requests import Engine
from warehouse import Warehouse

if TYPE_CHECKING:
    from flows.session import RunSession

SPEED = """
WITH part AS (
    SELECT kind, run_id, part, written_at, sum(n_rows) AS n,
        list_sort(list(DISTINCT request_hash)) AS requests
    FROM part_unit GROUP BY ALL
), done AS (
    SELECT p.kind, unnest(p.requests) AS request_hash, r.engine_hash, p.n,
        date_diff('millisecond', coalesce(
            lag(p.written_at) OVER (PARTITION BY p.run_id, p.kind, p.requests[1] ORDER BY p.written_at),
            lag(p.written_at) OVER (PARTITION BY p.run_id, p.kind ORDER BY p.written_at)
        ), p.written_at) / 1000 AS seconds
    FROM part AS p JOIN run AS r USING (run_id)
)
SELECT kind, coalesce(request_hash, engine_hash) AS name, median(n / seconds) AS per_second
FROM done
WHERE seconds > 0 AND seconds < 600
GROUP BY GROUPING SETS ((kind, request_hash), (kind, engine_hash))
"""
"""Query for rows per second of past parts, from the time since the previous part of the same request or, if
none, of the same run. It takes the median, because some gaps are pauses. The request comes first because a
judge's parts belong to the candidate's run."""

UNITS = {
    "item_logprob": "log-probabilities",
    "option_score": "log-probabilities",
    "candidate_score": "log-probabilities",
    "response": "completions",
    "embedding": "vectors",
}
"""Part kind -> unit that is counted."""

COLUMNS = ("who", "engine", "left", "time", "cost")
FRAME = {
    "who": pl.String, "role": pl.String, "engine": pl.String, "left": pl.Int64, "n": pl.Int64,
    "unit": pl.String, "seconds": pl.Float64, "tokens": pl.Int64, "usd": pl.Float64,
}  # fmt: skip
"""Columns of a plan's frame and their types."""

Cost = tuple[int, float | None] | None
"""Tokens and dollars (None: price unknown); None as a whole: free."""

Speeds = Mapping[tuple[str, str], float]
"""(part kind, request or engine hash) -> rows per second."""


@dataclass(frozen=True)
class Estimate:
    """A plan with the speeds measured so far.

    Attributes:
        candidates: models that later rounds prompt or judge. engines: the study's engines, by name.
    """

    plan: Plan
    speeds: Speeds
    candidates: Mapping[str, Engine] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)

    @classmethod
    def of_session(cls, session: RunSession) -> Estimate:
        """Return the estimate of a session's work."""
        alive = {name: session.candidates[name] for name in session.remaining()}
        return cls.of(session.plan, alive, session.engines)

    @classmethod
    def of(
        cls, plan: Plan, candidates: Mapping[str, Engine] = {}, engines: Mapping[str, Engine] = {}
    ) -> Estimate:
        """Return the estimate at speeds measured here before."""
        rows = Warehouse.open().query(SPEED).rows()
        return cls(plan, {(kind, name): float(rate) for kind, name, rate in rows}, candidates, engines)

    def served(self) -> list[EngineSpec]:
        """Return the specs of the servers that the work left may reach."""
        engines = [line.engine for line in self.plan.lines if line.left]
        if self.plan.left and self.plan.later:
            engines += [*self.candidates.values(), *self.engines.values()]
        return [engine.spec for engine in engines if engine.spec and engine.spec.is_served]

    def later(self) -> Iterator[tuple[str, str, Engine | None, int, Cost]]:
        """Yield the work that later rounds may add: name, role, engine, number of completions, and cost."""
        for each in self.plan.later if self.plan.left else ():
            by_name: Mapping[str, Engine | None] = self.candidates
            n = each.n
            if each.role != "candidate":
                by_name = {each.engine: self.engines.get(each.engine)}
                n *= 1 if each.is_shared else max(1, len(self.candidates))
            for name, engine in by_name.items():
                yield name, each.role, engine, n, _later_cost(engine, n * (each.tokens + thinking_of(engine)))

    def rate(self, line: PlanLine) -> float | None:
        """Return the rate per second of the same request, else of the same engine; None if not measured."""
        requests = dict.fromkeys(p.wanted.request_hash for work in line.work for p in work.pieces)
        names = [*requests, line.engine.hash]
        rates = (self.speeds.get((line.kind, name)) for name in names)
        return next((rate for rate in rates if rate), None)

    def frame(self) -> pl.DataFrame:
        """Return the plan as a frame: a row per model and engine of this round, then of later ones.

        Columns: ``who``, ``role`` and ``engine`` (its kind); ``left`` of ``n`` ``unit``; ``seconds`` (NULL:
        never measured here), ``tokens`` and ``usd`` at most (NULL: free, or without a price). In a row
        of later rounds, ``left`` is the most that they ask for, and ``n`` is NULL.
        """
        rows: list[tuple[object, ...]] = []
        for line in self.plan.lines:
            rate, price = self.rate(line), _cost(line) or (None, None)
            unit, seconds = UNITS.get(line.kind, line.kind), line.left / rate if rate else None
            who = _who(line), line.role, line.engine.kind
            rows.append((*who, line.left, line.n_units, unit, seconds, *price))
        for name, role, engine, n, most in self.later():
            kind = engine.kind if engine else None
            rows.append((name, role, kind, n, None, "completions", None, *(most or (None, None))))
        return pl.DataFrame(rows, schema=FRAME, orient="row")


def show(title: str, estimate: Estimate) -> None:
    """Print a line per model and engine, and the work that later rounds may add, with all columns."""
    plan = estimate.plan
    rows = []
    for line in plan.lines:
        left = f"{line.left:,} of {line.n_units:,} {UNITS.get(line.kind, line.kind)}"
        time = _time(line.left, estimate.rate(line))
        rows.append((_who(line), _engine(line.role, line.engine), left, time, _price(_cost(line))))
    for name, role, engine, n, most in estimate.later():
        rows.append((name, _engine(role, engine), f"later ≤ {n:,} completions", "", _price(most)))
    print_table(COLUMNS, rows, title, stderr=True)
    if served := sorted({f"{spec.key_pair} ({spec.name})" for spec in estimate.served()}):
        say(f"keys sent, if they are set: {', '.join(served)}", style="")
    if plan.left and sum(plan.loads.values()) > 1:
        times = ", ".join(f"{name} {n}" for name, n in plan.loads.items())
        say(f"loads of engines here, at most {sum(plan.loads.values())}: {times}", style="")


def show_sum(estimates: Sequence[Estimate]) -> None:
    """Print the sums of several plans that run one after another."""
    left: Counter[str] = Counter()
    seconds, unknown = 0.0, False
    costs: list[Cost] = []
    for estimate in estimates:
        plan = estimate.plan
        for line in plan.lines:
            left[UNITS.get(line.kind, line.kind)] += line.left
            rate = estimate.rate(line)
            seconds += line.left / rate if rate else 0
            unknown |= bool(line.left and not rate)
            costs.append(_cost(line))
        for *_, n, most in estimate.later():
            left["later completions at most"] += n
            unknown = True
            costs.append(most)
    paid = [cost for cost in costs if cost is not None]
    priced = [usd for tokens, usd in paid if tokens and usd is not None]
    time = [f"about {duration(seconds)}"] * bool(seconds) + ["work never timed here"] * unknown
    sums = [
        ", ".join(f"{n:,} {unit}" for unit, n in left.items() if n) or "nothing",
        " and ".join(time),
        _price((sum(tokens for tokens, _ in paid), sum(priced) if priced else None)) if paid else "",
        "and requests without a known price" if priced and any(t and usd is None for t, usd in paid) else "",
    ]
    say("in all: " + "; ".join(filter(None, sums)), style="bold")


def probed(estimate: Estimate, speed: Callable[[PlanLine], float | None]) -> Estimate:
    """Return the estimate after measuring the speed of local scoring engines that have none yet."""
    speeds = dict(estimate.speeds)
    for line in estimate.plan.lines:
        spec, is_scored = line.engine.spec, UNITS.get(line.kind) == UNITS["item_logprob"]
        if estimate.rate(line) or not (line.work and is_scored and spec and not spec.is_served):
            continue
        with working(f"measuring {line.engine.name}"):
            rate = speed(line)
        if rate:
            speeds[line.kind, line.engine.hash] = rate
            speed_here = f"{rate:,.0f} {UNITS[line.kind]}/s, {_time(line.left, rate)}"
            say(f"probe: {line.engine.name} {speed_here}", style="")
    return replace(estimate, speeds=speeds)


def _who(line: PlanLine) -> str:
    about = f" on {line.model}" if line.model and line.role in ("judge", "simulator") else ""
    return f"{line.engine.name}{about}"


def _engine(role: str, engine: Engine | None) -> str:
    """Return role, kind and precision of an engine."""
    spec = engine.spec if engine else None
    roles = [] if role == "candidate" else [role]
    kinds = [engine.kind] if engine and engine.kind != role else []
    return " ".join([*roles, *kinds, *([spec.dtype] if spec and has_weights(spec) else [])])


def _time(left: int, rate: float | None) -> str:
    """Return a duration in words."""
    if not left:
        return "–"
    return f"about {duration(left / rate)}" if rate else "unknown"


def _cost(line: PlanLine) -> Cost:
    """Return the highest cost of the work left."""
    spec = line.engine.spec
    if spec is None or _is_free(spec):
        return None
    most = [g for work in line.work for g in work.at_most]
    return sum(g.prompt_tokens + g.completion_tokens for g in most), cost(spec, most)


def _later_cost(engine: Engine | None, tokens: int) -> Cost:
    """Return the highest cost of later rounds, with every token at the higher of both prices."""
    spec = engine.spec if engine else None
    if spec is None:
        return tokens, None
    if _is_free(spec):
        return None
    dearest = max(cost(spec, [Generation("", "", *split, 0)]) or 0 for split in ((tokens, 0), (0, tokens)))
    return tokens, dearest if spec.usd_per_million_input_tokens is not None else None


def _is_free(spec: EngineSpec) -> bool:
    return not spec.is_served and spec.usd_per_million_input_tokens is None


def _price(most: Cost) -> str:
    if most is None:
        return "none"
    tokens, usd = most
    if not tokens:
        return "–"
    return f"≤ {tokens:,} tokens" + ("" if usd is None else f", ≤ ${usd:.2f}")
