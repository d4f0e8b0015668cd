"""What a run of worldwise would do."""

from __future__ import annotations

from deployments import plan
from tasks import steps as shared
from tasks.engines.specs import EngineSpec
from tasks.evaluations.worldwise import steps
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.requests import Study
from tasks.generation.budget import at_most
from tasks.generation.steps import RESPONSES, Ask, missing

COLUMNS = ("model", "engine", "cultures", "scenarios", "answers", "left to ask", "cost", "time")


def show_plan(params: WorldwiseParams) -> bool:
    """Print a line per model: what is asked, what is left, at most at which price, how long that took before.

    Returns:
        whether anything is left to do.
    """
    study = steps.build(params)
    cultures, scenarios, _ = study.shape
    lines, work_left = [], False
    speed = plan.speed(RESPONSES)
    for spec in map(shared.spec_of, params.models):
        left = _left(study, spec)
        n_left = sum(map(len, left))
        work_left |= bool(n_left) or not shared.is_finished((steps.run_id(study, spec), spec.name))
        asked = (str(cultures), str(scenarios), f"{study.n_cells:,}", f"{n_left:,}")
        most = (
            at_most(ask.conversation, ask.schema, study.sampling(r))
            for r, asks in enumerate(left)
            for ask in asks
        )
        price = plan.cost_at_most(spec, most)
        time = plan.time_left(n_left, speed.get(spec.name))
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *asked, price, time))
    title = f"worldwise, profile {params.profile}, config {study.config_hash()}"
    plan.show(title, COLUMNS, lines)
    return work_left


def _left(study: Study, spec: EngineSpec) -> list[list[Ask]]:
    """What has no answer yet, by repetition; with refresh, everything."""
    if study.params.refresh:
        return steps.asks(study)
    return [missing(asks, spec, study.sampling(r)) for r, asks in enumerate(steps.asks(study))]
