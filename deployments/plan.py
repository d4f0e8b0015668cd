"""What a run would do, before it does it: work left, and time at the speed measured here before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from rich.table import Table

from deployments.display import err
from tasks.engines.protocols import Generation
from tasks.engines.specs import EngineSpec, cost
from warehouse import Warehouse

SPEED = """
SELECT model, sum(n_items) / nullif(sum(seconds), 0) AS items_per_s
FROM (
    SELECT r.model, sum(p.n_rows) AS n_items,
           date_diff('millisecond', lag(p.written_at) OVER (PARTITION BY p.run_id ORDER BY p.written_at),
                     p.written_at) / 1000 AS seconds
    FROM part_unit AS p JOIN run AS r USING (run_id)
    WHERE p.kind = ?
    GROUP BY r.model, p.run_id, p.part, p.written_at
)
WHERE seconds < 600
GROUP BY model
"""
"""Speed of past parts: time between one part and the next of the same run; longer gaps are pauses."""


def show(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a line per model."""
    table = Table(*columns, title=title)
    for line in lines:
        table.add_row(*line)
    err.print(table)


def speed(kind: str) -> dict[str, float]:
    """model -> rows a second of its parts so far."""
    return dict(Warehouse.open().query(SPEED, [kind]).rows())


def cost_at_most(spec: EngineSpec, most: Iterable[Generation]) -> str:
    """What answers can cost at most, in words; most: ``budget.at_most`` of each, looked at if it costs."""
    if spec.kind != "openai":
        return "none (runs here)"
    answers = list(most)
    usd = cost(spec, answers)
    tokens = sum(g.prompt_tokens + g.completion_tokens for g in answers)
    return f"≤ {tokens:,} tokens" + ("" if usd is None else f", ≤ ${usd:.2f}")


def time_left(left: int, rate: float | None) -> str:
    """In words, for the plan."""
    if not left:
        return "nothing to do"
    if not rate:
        return "not measured yet here"
    return f"about {timedelta(seconds=round(left / rate))} at {rate:,.0f}/s"
