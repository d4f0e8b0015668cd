"""Prompts completed without an evaluation around them: each is sent once, then read back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tasks.engines.protocols import Sampling
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.loop.steps import Run


def plan(prompts: Sequence[Prompt], engine: Engine, sampling: Sampling, batch: int = 32) -> Plan:
    """What of the prompts has no stored completion, in parts."""
    request = Prompts(prompts=prompts, sampling=sampling, batch=batch)
    wanted = [Wanted(engine.name, request, engine, request.hash(engine))]
    return lay_out(wanted, steps.unanswered(wanted))


def complete(
    prompts: Sequence[Prompt],
    engine: Engine,
    sampling: Sampling,
    run: Run,
    label: str,
    batch: int = 32,
    meter: Meter | None = None,
) -> list[Completion]:
    """Every completion, in order; what is stored is not sent. Raises as ``steps.answer``."""
    todo, meter = plan(prompts, engine, sampling, batch), meter or Meter(Budget())
    total = sum(line.left for line in todo.lines)
    for work in todo.work:
        steps.again_if_lost(partial(steps.answer, work, run, meter, label, total))
    request = Prompts(prompts=prompts, sampling=sampling)
    name = request.hash(engine)
    completions = request.decode(steps.stored(request.kind, name, request.units, request.columns))
    return [completions[prompt.id] for prompt in prompts]
