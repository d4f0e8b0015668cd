"""What a run of fmlama would do."""

from __future__ import annotations

from deployments import plan
from tasks import steps as shared
from tasks.evaluations.fmlama import steps
from tasks.evaluations.fmlama.params import FmlamaParams

COLUMNS = (
    "model", "engine", "dishes", "conditions", "log-probabilities", "left to score", "cost", "time",
)  # fmt: skip


def show_plan(params: FmlamaParams) -> bool:
    """Print a line per model and one for the judge; see the spectral evaluation's."""
    study = steps.build(params)
    lines, work_left = [], False
    speed = plan.speed(steps.SCORES)
    dishes = max(len(p.dishes) for p in study.probes)
    for spec in map(shared.spec_of, params.models):
        units = steps.plan(study, spec)
        work_left |= bool(units) or not shared.is_finished((steps.run_id(study, spec), spec.name))
        left = sum(unit.n_pairs for unit in units)
        asked = (str(dishes), str(len(study.probes)), f"{study.n_pairs:,}", f"{left:,}")
        time = plan.time_left(left, speed.get(spec.name))
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *asked, "none (runs here)", time))
    if params.judge:
        origins = {dish.group for dish in study.probes[0].dishes}
        calls = min(len(origins) * params.judged_dishes_per_origin, dishes) * (len(params.models) + 2)
        judge = shared.spec_of(params.judge)
        cost = "at your provider's price" if judge.kind == "openai" else "none (runs here)"
        name, kind = f"{judge.name} (judge)", f"{judge.kind} {judge.dtype}"
        lines.append((name, kind, "", "", f"≤ {calls} answers", "", cost, "not measured yet here"))
    title = f"fmlama, profile {params.profile}, config {study.config_hash()}"
    plan.show(title, COLUMNS, lines)
    return work_left
