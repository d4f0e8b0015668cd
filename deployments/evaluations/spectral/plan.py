"""What a run of spectral would do."""

from __future__ import annotations

from deployments import plan
from tasks import steps as shared
from tasks.evaluations.spectral import steps
from tasks.evaluations.spectral.params import SpectralParams

COLUMNS = (
    "model", "engine", "countries", "questions", "log-probabilities", "left to score", "cost", "time",
)  # fmt: skip


def show_plan(params: SpectralParams) -> bool:
    """Print a line per model: what is asked, what is left, and how long that took before.

    Returns:
        whether anything is left to do.
    """
    study = steps.build(params)
    lines, work_left = [], False
    speed = plan.speed(steps.LOGPROBS)
    for spec in map(shared.spec_of, params.models):
        units = steps.plan(study, spec)
        work_left |= bool(units) or not shared.is_finished((steps.run_id(study, spec), spec.name))
        left = sum(len(u.countries) * len(study.lists[u.question.item_list].items) for u in units)
        asked = (str(len(study.countries)), str(len(study.questions)), f"{study.n_pairs:,}", f"{left:,}")
        time = plan.time_left(left, speed.get(spec.name))
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *asked, "none (runs here)", time))
    title = f"spectral, profile {params.profile}, config {study.config_hash()}"
    plan.show(title, COLUMNS, lines)
    return work_left
