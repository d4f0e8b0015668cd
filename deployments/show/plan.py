"""Show a run's plan: the work left, its highest cost, and its time on this machine."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from deployments.cli.bars import duration
from deployments.show.display import print_table, say, working
from tasks.engines.contexts import context_of
from tasks.engines.protocols import Generation
from tasks.engines.specs import EngineSpec, cost, has_weights
from tasks.loop.placement import Job, Placement, forecast
from tasks.loop.plan import Plan, PlanLine, thinking_of
from tasks.loop.requests import Engine
from tasks.loop.usage import FEWEST, Usage, Used, expected, expected_later
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

USED = """
SELECT t.model AS engine, t.model = r.model AS is_candidate, avg(t.prompt_tokens) AS prompt,
    avg(t.completion_tokens) AS completion, count(*) AS n
FROM response AS t JOIN run AS r USING (run_id)
WHERE r.evaluation = $evaluation AND t.prompt_tokens > 0
GROUP BY ALL
"""
"""Query for the mean tokens of an evaluation's stored completions, by engine and role. A completion without
the server's count is left out."""

UNITS = {
    "item_logprob": "log-probabilities",
    "option_score": "log-probabilities",
    "candidate_score": "log-probabilities",
    "response": "completions",
    "embedding": "vectors",
}
"""Part kind -> unit that is counted."""

_FREE = "–"
COLUMNS = ("who", "engine", "left", "time", "expected", "cost")
PLACES = ("engine", "devices", "memory on each", "begins after", "time")
GIB = 2**30
FRAME = {
    "who": pl.String, "role": pl.String, "engine": pl.String, "left": pl.Int64, "n": pl.Int64,
    "unit": pl.String, "seconds": pl.Float64, "tokens": pl.Int64, "usd": pl.Float64,
    "expected_tokens": pl.Int64, "expected_usd": pl.Float64,
}  # fmt: skip
"""Columns of a plan's frame and their types."""

Cost = tuple[int, float | None] | None
"""Tokens and dollars (None: price unknown); None as a whole: free."""

Speeds = Mapping[tuple[str, str], float]
"""(part kind, request or engine hash) -> rows per second."""


@dataclass(frozen=True)
class Estimate:
    """A plan with the speeds measured so far, and what stored completions used.

    Attributes:
        candidates: models that later rounds prompt or judge. engines: the study's engines, by name.
    """

    plan: Plan
    speeds: Speeds
    candidates: Mapping[str, Engine] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    placement: Placement | None = None

    @classmethod
    def of_session(cls, session: RunSession) -> Estimate:
        """Return the estimate of a session's work."""
        alive = {name: session.candidates[name] for name in session.remaining()}
        estimate = cls.of(session.plan, alive, session.engines, session.evaluation.name)
        return replace(estimate, placement=session.placement)

    @classmethod
    def of(
        cls,
        plan: Plan,
        candidates: Mapping[str, Engine] = {},
        engines: Mapping[str, Engine] = {},
        evaluation: str = "",
    ) -> Estimate:
        """Return the estimate at speeds measured here before. evaluation: whose stored completions count."""
        warehouse = Warehouse.open()
        rows = warehouse.query(SPEED).rows()
        speeds = {(kind, name): float(rate) for kind, name, rate in rows}
        return cls(plan, speeds, candidates, engines, _usage(warehouse, evaluation))

    def served(self) -> list[EngineSpec]:
        """Return the specs of the servers that the work left may reach."""
        engines = [line.engine for line in self.plan.lines if line.left]
        if self.plan.left and self.plan.later:
            engines += [*self.candidates.values(), *self.engines.values()]
        return [engine.spec for engine in engines if engine.spec and engine.spec.is_served]

    def later(self) -> Iterator[tuple[str, str, Engine | None, int, Cost, Cost]]:
        """Yield the work that later rounds may add: name, role, engine, number of completions, cost at most,
        and expected cost.
        """
        for each in self.plan.later if self.plan.left else ():
            by_name: Mapping[str, Engine | None] = self.candidates
            times = 1
            if each.role != "candidate":
                by_name = {each.engine: self.engines.get(each.engine)}
                times = 1 if each.is_shared else max(1, len(self.candidates))
            for name, engine in by_name.items():
                context = context_of(engine.spec if engine else None)
                one = min(each.tokens + thinking_of(engine), context or sys.maxsize)
                most = _later_cost(engine, times * each.n * one)
                n, used = expected_later(each, one, engine, self.usage)
                usual = Generation(
                    "", "", math.ceil(times * n * used.prompt), math.ceil(times * n * used.completion), 0
                )
                yield name, each.role, engine, times * each.n, most, _paid(engine, [usual])

    def expected(self, line: PlanLine) -> Cost:
        """Return the expected cost of a line's work left."""
        most = [g for work in line.work for g in work.at_most]
        return _paid(line.engine, expected(most, line.engine, line.role, self.usage))

    def rate(self, line: PlanLine) -> float | None:
        """Return the rate per second of the same request, else of the same engine; None if not measured."""
        requests = dict.fromkeys(p.wanted.request_hash for work in line.work for p in work.pieces)
        names = [*requests, line.engine.hash]
        rates = (self.speeds.get((line.kind, name)) for name in names)
        return next((rate for rate in rates if rate), None)

    def frame(self) -> pl.DataFrame:
        """Return the plan as a frame: a row per model and engine of this round, then of later ones.

        Columns: ``who``, ``role`` and ``engine`` (its kind); ``left`` of ``n`` ``unit``; ``seconds`` (NULL:
        never measured here), ``tokens`` and ``usd`` at most (NULL: free, or without a price), and
        ``expected_tokens`` and ``expected_usd``. In a row of later rounds, ``left`` is the most that they ask
        for, and ``n`` is NULL.
        """
        rows: list[tuple[object, ...]] = []
        for line in self.plan.lines:
            rate, price = self.rate(line), _cost(line) or (None, None)
            usual = self.expected(line) or (None, None)
            unit, seconds = UNITS.get(line.kind, line.kind), line.left / rate if rate else None
            who = _who(line), line.role, line.engine.kind
            rows.append((*who, line.left, line.n_units, unit, seconds, *price, *usual))
        for name, role, engine, n, most, later in self.later():
            kind = engine.kind if engine else None
            both = *(most or (None, None)), *(later or (None, None))
            rows.append((name, role, kind, n, None, "completions", None, *both))
        return pl.DataFrame(rows, schema=FRAME, orient="row")


def show(title: str, estimate: Estimate) -> None:
    """Print a line per model and engine, and the work that later rounds may add, with all columns; that of
    expected costs is left out where nothing costs anything.
    """
    plan = estimate.plan
    rows = []
    for line in plan.lines:
        left = f"{line.left:,} of {line.n_units:,} {UNITS.get(line.kind, line.kind)}"
        time = _time(line.left, estimate.rate(line))
        prices = _usual(estimate.expected(line)), _price(_cost(line))
        rows.append((_who(line), _engine(line.role, line.engine), left, time, *prices))
    for name, role, engine, n, most, later in estimate.later():
        about = f"later ≤ {n:,} completions"
        rows.append((name, _engine(role, engine), about, "", _usual(later), _price(most)))
    place = COLUMNS.index("expected")
    shown = [n for n in range(len(COLUMNS)) if n != place or any(row[place] != _FREE for row in rows)]
    print_table([COLUMNS[n] for n in shown], [[row[n] for n in shown] for row in rows], title, stderr=True)
    if served := sorted({f"{spec.key_pair} ({spec.name})" for spec in estimate.served()}):
        say(f"keys sent, if they are set: {', '.join(served)}", style="")
    if estimate.placement and plan.left:
        _show_placement(estimate, estimate.placement)
    if plan.left and sum(plan.loads.values()) > 1:
        times = ", ".join(f"{name} {n}" for name, n in plan.loads.items())
        say(f"loads of engines here, at most {sum(plan.loads.values())}: {times}", style="")


def _show_placement(estimate: Estimate, placement: Placement) -> None:
    """Print where each engine of this round works, its memory there, and when, if its speed is known."""
    lines, jobs, seconds, names = estimate.plan.lines, list[Job](), dict[str, float](), dict[str, str]()
    for name, need in placement.needs.items():
        own = [line for line in lines if line.engine.hash == name and line.work]
        rates = [estimate.rate(line) for line in own]
        times = [line.left / rate for line, rate in zip(own, rates, strict=True) if rate]
        names[name] = own[0].engine.name if own else ""
        seconds[name] = sum(times) if len(times) == len(own) else math.nan
        jobs.append(Job(name, need, sum(len(line.work) for line in own), most=placement.most))
    node, planned = placement.node, [job for job in jobs if job.parts]
    is_timed = not any(math.isnan(seconds[job.engine]) for job in planned)
    played = forecast(node, planned, seconds if is_timed else dict.fromkeys(seconds, 1.0))
    rows = []
    for each in sorted(played, key=lambda each: (each.start, names[each.copy.engine])):
        need = each.copy.need
        memory = "" if node.unit == "Ray GPU" else f"{(need.host or need.each) / GIB:,.1f} GiB"
        begins = (duration(each.start) if is_timed else "later") if each.start else "at once"
        time = duration(each.end - each.start) if is_timed else "unknown"
        rows.append((names[each.copy.engine], ", ".join(each.copy.devices), memory, begins, time))
    title = f"placement on {len(node.devices)} {node.unit}{'s' if len(node.devices) > 1 else ''}"
    if is_timed and played:
        title += f", about {duration(max(each.end for each in played))} in all"
    print_table(PLACES, rows, title, stderr=True)


def show_sum(estimates: Sequence[Estimate]) -> None:
    """Print the sums of several plans that run one after another."""
    left: Counter[str] = Counter()
    seconds, unknown = 0.0, False
    costs: list[Cost] = []
    usual: list[Cost] = []
    for estimate in estimates:
        plan = estimate.plan
        for line in plan.lines:
            left[UNITS.get(line.kind, line.kind)] += line.left
            rate = estimate.rate(line)
            seconds += line.left / rate if rate else 0
            unknown |= bool(line.left and not rate)
            costs.append(_cost(line))
            usual.append(estimate.expected(line))
        for *_, n, most, later in estimate.later():
            left["later completions at most"] += n
            unknown = True
            costs.append(most)
            usual.append(later)
    expect = [cost for cost in usual if cost is not None]
    paid = [cost for cost in costs if cost is not None]
    priced = [usd for tokens, usd in paid if tokens and usd is not None]
    time = [f"about {duration(seconds)}"] * bool(seconds) + ["work never timed here"] * unknown
    sums = [
        ", ".join(f"{n:,} {unit}" for unit, n in left.items() if n) or "nothing",
        " and ".join(time),
        "expected "
        + _usual((sum(t for t, _ in expect), sum(usd or 0 for _, usd in expect) if priced else None))
        if paid
        else "",
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
    return _paid(line.engine, [g for work in line.work for g in work.at_most])


def _paid(engine: Engine | None, used: Sequence[Generation]) -> Cost:
    """Return the cost of completions."""
    spec = engine.spec if engine else None
    if engine is not None and (spec is None or _is_free(spec)):
        return None
    tokens = sum(g.prompt_tokens + g.completion_tokens for g in used)
    return tokens, cost(spec, used) if spec else None


def _usage(warehouse: Warehouse, evaluation: str) -> Usage:
    """Return what an evaluation's stored completions used, by engine and role."""
    rows = warehouse.query(USED, {"evaluation": evaluation}).filter(pl.col("n") >= FEWEST)
    of_engine = {(e, is_own): Used(p, c) for e, is_own, p, c, _ in rows.iter_rows()}
    of_role = {}
    for is_own in sorted({bool(is_own) for is_own in rows["is_candidate"]}):
        own = [row for row in rows.iter_rows() if row[1] == is_own]
        total = sum(n for *_, n in own)
        of_role[is_own] = Used(
            sum(p * n for _, _, p, _, n in own) / total, sum(c * n for *_, c, n in own) / total
        )
    return Usage(of_engine, of_role)


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
    """Return a bound in words, dollars rounded up."""
    if most is None:
        return "none"
    tokens, usd = most
    if not tokens:
        return "–"
    return f"≤ {tokens:,} tokens" + ("" if usd is None else f", ≤ ${_cents_up(usd):,.2f}")


def _usual(cost: Cost) -> str:
    """Return an expected cost in words."""
    if cost is None or not cost[0]:
        return _FREE
    tokens, usd = cost
    return f"about {_two_digits(tokens):,} tokens" + ("" if usd is None else f", ${_cents_up(usd):,.2f}")


def _cents_up(usd: float) -> float:
    """Return dollars rounded up to cents; a bound that is shown is never below the bound."""
    return math.ceil(round(usd * 100, 6)) / 100


def _two_digits(n: int) -> int:
    """Return a number rounded to two digits."""
    return int(float(f"{n:.2g}"))
