"""What a run would do, before it does it: work left, and time at the speed measured here before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.table import Table

from deployments.display import err
from tasks import steps as shared
from tasks.evaluations.fmlama import steps as fmlama_steps
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.spectral import steps as spectral_steps
from tasks.evaluations.spectral.params import SpectralParams
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


def spectral_plan(params: SpectralParams) -> bool:
    """Print a line per model: what is asked, what is left, and how long that took before.

    Returns:
        whether anything is left to do.
    """
    steps, study = spectral_steps, spectral_steps.build(params)
    lines, work_left = [], False
    speed = _speed(steps.LOGPROBS)
    for spec in map(shared.spec_of, params.models):
        units = steps.plan(study, spec)
        work_left |= bool(units) or not shared.is_finished((steps.run_id(study, spec), spec.name))
        left = sum(len(u.countries) * len(study.lists[u.question.item_list].items) for u in units)
        asked = (str(len(study.countries)), str(len(study.questions)), f"{study.n_pairs:,}", f"{left:,}")
        time = _time(left, speed.get(spec.name))
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *asked, "none (runs here)", time))
    _print("spectral", params.profile, study.config_hash(), ("countries", "questions"), lines)
    return work_left


def fmlama_plan(params: FmlamaParams) -> bool:
    """Print a line per model and one for the judge; see ``spectral_plan``."""
    steps, study = fmlama_steps, fmlama_steps.build(params)
    lines, work_left = [], False
    speed = _speed(steps.SCORES)
    dishes = max(len(p.dishes) for p in study.probes)
    for spec in map(shared.spec_of, params.models):
        units = steps.plan(study, spec)
        work_left |= bool(units) or not shared.is_finished((steps.run_id(study, spec), spec.name))
        left = sum(unit.n_pairs for unit in units)
        asked = (str(dishes), str(len(study.probes)), f"{study.n_pairs:,}", f"{left:,}")
        time = _time(left, speed.get(spec.name))
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *asked, "none (runs here)", time))
    if params.judge:
        origins = {dish.group for dish in study.probes[0].dishes}
        calls = min(len(origins) * params.judged_dishes_per_origin, dishes) * (len(params.models) + 2)
        judge = shared.spec_of(params.judge)
        cost = "at your provider's price" if judge.kind == "openai" else "none (runs here)"
        name, kind = f"{judge.name} (judge)", f"{judge.kind} {judge.dtype}"
        lines.append((name, kind, "", "", f"≤ {calls} answers", "", cost, "not measured yet here"))
    _print("fmlama", params.profile, study.config_hash(), ("dishes", "conditions"), lines)
    return work_left


def _print(
    evaluation: str, profile: str, config: str, counted: tuple[str, str], lines: Sequence[tuple[str, ...]]
) -> None:
    columns = ("model", "engine", *counted, "log-probabilities", "left to score", "cost", "time")
    table = Table(*columns, title=f"{evaluation}, profile {profile}, config {config}")
    for line in lines:
        table.add_row(*line)
    err.print(table)


def _speed(kind: str) -> dict[str, float]:
    """model -> rows a second of its parts so far."""
    return dict(Warehouse.open().query(SPEED, [kind]).rows())


def _time(left: int, rate: float | None) -> str:
    if not left:
        return "nothing to do"
    if not rate:
        return "not measured yet here"
    return f"about {timedelta(seconds=round(left / rate))} at {rate:,.0f}/s"
