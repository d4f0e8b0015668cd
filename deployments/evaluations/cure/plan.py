"""What a run of cure would do."""

from __future__ import annotations

from deployments import plan
from tasks import steps as shared
from tasks.evaluations.cure import steps
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.requests import Study
from tasks.generation.budget import at_most
from tasks.generation.steps import RESPONSES, missing

COLUMNS = ("model", "engine", "items", "answers", "left to ask", "cost", "time")


def show_plan(params: CureParams) -> bool:
    """Print a line per model and judge: what is left, at most at which price, how long that took before.

    Returns:
        whether anything is left to do.
    """
    study = steps.build(params)
    lines, work_left = [], False
    speed = plan.speed(RESPONSES)
    n_items = sum(len(study.items(benchmark)) for benchmark in study.benchmarks)
    every = [ask for part in study.parts() for ask in steps.asks(study, *part)]
    for spec in map(shared.spec_of, params.models):
        left = every if params.refresh else missing(every, spec, study.sampling())
        run = (steps.run_id(study, spec), spec.name)
        is_finished = shared.is_finished(run)
        work_left |= bool(left) or not is_finished or _judging_left(study, run)
        counts = (str(n_items), f"{len(every):,}", f"{len(left):,}")
        time = plan.time_left(len(left), speed.get(spec.name))
        most = (at_most(ask.conversation, ask.schema, study.sampling()) for ask in left)
        lines.append((spec.name, f"{spec.kind} {spec.dtype}", *counts, plan.cost_at_most(spec, most), time))
    for spec in map(shared.spec_of, params.judges):
        calls = f"≤ {_n_judged(study) * len(params.models):,}"
        price = "none (runs here)" if spec.kind != "openai" else "at your provider's price"
        lines.append((f"{spec.name} (judge)", f"{spec.kind} {spec.dtype}", "", calls, "", price, ""))
    title = f"cure, profile {params.profile}, config {study.config_hash()}"
    plan.show(title, COLUMNS, lines)
    return work_left


def _judging_left(study: Study, run: shared.Run) -> bool:
    """Whether a finished run has lost verdicts, as when a part of them could not be read."""
    judges = [shared.spec_of(name) for name in study.params.judges]
    asked = steps.judge_asks(study, run) if judges else {}
    return any(missing(asks, judge, s) for judge in judges for s, asks in asked.items())


def _n_judged(study: Study) -> int:
    """Most calls of one judge about one model: real and three null explanations, in every vote."""
    if "thick" not in study.modes:
        return 0
    votes = {b: study.params.judge_samples if len(study.rubrics[b]) > 1 else 1 for b in study.benchmarks}
    return sum(4 * votes[benchmark] * len(study.items(benchmark)) for benchmark in study.benchmarks)
