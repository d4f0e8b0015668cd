"""What a run would do, before it does it: work left, and time at the speed measured here before."""

from __future__ import annotations

from datetime import timedelta

from rich.table import Table

from deployments.display import err
from tasks.evaluations.spectral import steps
from tasks.evaluations.spectral.params import SpectralParams
from warehouse import Warehouse

SPEED = """
SELECT model, sum(n_items) / nullif(sum(seconds), 0) AS items_per_s
FROM (
    SELECT r.model, sum(p.n_rows) AS n_items,
           date_diff('millisecond', lag(p.written_at) OVER (PARTITION BY p.run_id ORDER BY p.written_at),
                     p.written_at) / 1000 AS seconds
    FROM part_unit AS p JOIN run AS r USING (run_id)
    WHERE p.kind = 'item_logprob'
    GROUP BY r.model, p.run_id, p.part, p.written_at
)
WHERE seconds < 600
GROUP BY model
"""
"""Speed of past parts: time between one part and the next of the same run; longer gaps are pauses."""


def show_plan(params: SpectralParams) -> bool:
    """Print a line per model: what is asked, what is left, and how long that took before.

    Returns:
        whether anything is left to do.
    """
    work_left = False
    study = steps.build(params)
    speed = dict(Warehouse.open().query(SPEED).rows())
    columns = (
        "model",
        "engine",
        "countries",
        "questions",
        "log-probabilities",
        "left to score",
        "cost",
        "time",
    )
    table = Table(*columns, title=f"spectral, profile {params.profile}, config {study.config_hash()}")
    for spec in steps.specs_of(params):
        units = steps.plan(study, spec)
        work_left |= bool(units) or not steps.is_finished((steps.run_id(study, spec), spec.name))
        left = sum(len(u.countries) * len(study.lists[u.question.item_list].items) for u in units)
        asked = (str(len(study.countries)), str(len(study.questions)), f"{study.n_pairs:,}", f"{left:,}")
        time = _time(left, speed.get(spec.name))
        table.add_row(spec.name, f"{spec.kind} {spec.dtype}", *asked, "none (runs here)", time)
    err.print(table)
    return work_left


def _time(left: int, rate: float | None) -> str:
    if not left:
        return "nothing to do"
    if not rate:
        return "not measured yet here"
    return f"about {timedelta(seconds=round(left / rate))} at {rate:,.0f}/s"
