"""The loop over prompts in one call: plan, complete what is missing, read all back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tasks.engines.protocols import Sampling
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine


def plan(prompts: Sequence[Prompt], engine: Engine, sampling: Sampling, batch: int = 32) -> Plan:
    """Return the parts of the prompts without a stored completion."""
    wanted = [Wanted(engine.name, Prompts(prompts=prompts, sampling=sampling, batch=batch), engine)]
    return lay_out(wanted, steps.unanswered(wanted))


def complete(
    prompts: Sequence[Prompt],
    engine: Engine,
    sampling: Sampling,
    run: tuple[str, str] = ("run-1", "candidate"),
    label: str = "label",
    batch: int = 32,
    meter: Meter | None = None,
) -> list[Completion]:
    """Return every completion, in order."""
    todo, meter = plan(prompts, engine, sampling, batch), meter or Meter(Budget())
    total = sum(line.left for line in todo.lines)
    for work in todo.work:
        steps.retried_if_lost(partial(steps.compute_answers, work, run, meter, label, total))
    request = Prompts(prompts=prompts, sampling=sampling)
    rows = steps.stored(request.kind, request.hash(engine), request.units, request.columns)
    completions = request.decode(rows)
    return [completions[prompt.id] for prompt in prompts]
