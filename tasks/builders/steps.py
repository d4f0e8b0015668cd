"""Have prompts completed outside of an evaluation's loop: each is sent once, then read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import polars as pl

from tasks.engines.protocols import Sampling
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.loop.steps import Run
from warehouse import Run as RunRow
from warehouse import Warehouse, save_run, save_run_requests


def start(
    run_id: str,
    name: str,
    engine: Engine,
    params: Mapping[str, Any],
    *,
    config_hash: str,
    materials: Mapping[str, str],
    asked: Sequence[tuple[str, str, str]],
) -> None:
    """Write down what an engine is going to be asked, before anything is: a row of the table run.

    Args:
        name: of the flow. params: its knobs, with "profile". materials: name -> hash of what is asked about.
        asked: request_hash, topic and label of each request.
    """
    spec = engine.spec
    row = RunRow(
        run_id=run_id,
        evaluation=name,
        model=engine.name,
        is_null=False,
        profile=params["profile"],
        config_hash=config_hash,
        engine_hash=engine.hash,
        params=params,
        engine=spec.described() if spec else {},
        item_lists=materials,
        boundary_rule="none",
        code_version=version("culturescope"),
    )
    columns = dict.fromkeys(("request_hash", "topic", "label"), pl.String)
    with Warehouse.open().write() as connection:
        save_run(connection, row)
        save_run_requests(connection, run_id, pl.DataFrame(asked, columns, orient="row"))


def plan(prompts: Sequence[Prompt], engine: Engine, sampling: Sampling, batch: int = 32) -> Plan:
    """What of the prompts has no stored completion, in parts."""
    request = Prompts(prompts=prompts, sampling=sampling, batch=batch)
    wanted = [Wanted(engine.name, request, engine)]
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
    """Every completion, in order; only what is missing is sent, and no engine is loaded if nothing is.

    Args:
        run: who asks; a stored completion names whose it was.
        label: of the progress.
        batch: prompts that are completed and stored together: a part. A kill loses one at most.
        meter: counts what is newly sent, over all calls that it is given to, and stops them in time.

    Raises:
        BudgetReached: the next batch may use more than the meter's budget has left.
        EngineError: the engine cannot be loaded, or failed. Either way all earlier batches are stored.
    """
    todo = plan(prompts, engine, sampling, batch)
    meter = meter or Meter(Budget())
    total = sum(line.left for line in todo.lines)
    for work in todo.work:
        steps.again_if_lost(partial(steps.answer, work, run, meter, label, total))
    request = Prompts(prompts=prompts, sampling=sampling)
    name = request.hash(engine)
    completions = request.decode(steps.stored(request.kind, name, request.units, request.columns))
    return [completions[prompt.id] for prompt in prompts]
