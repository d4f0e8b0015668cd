"""Finished runs, read again: what was asked and answered, sample by sample. Nothing is asked.

A run stores its parameters, not its prompts in their order: its study is built anew, and has to be the same
as then, which its ``config_hash`` tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flows.session import build
from tasks.evaluations.contract import Completions, Evaluation, Study, comparable
from tasks.loop import steps
from tasks.loop.prompt_samples import plain
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine
from tasks.loop.samples import Sample
from warehouse import Warehouse, WarehouseError

_FINISHED = """
SELECT run_id, evaluation, config_hash, model, engine_hash, coalesce(occasion, '') AS occasion, profile,
    params, engine, boundary_rule, code_version, started_at, finished_at
FROM run WHERE status = 'finished' AND NOT is_null"""
_EVERY = f"{_FINISHED} ORDER BY evaluation, config_hash, occasion, code_version, model"
_RUNS = f"""{_FINISHED}
    AND ($evaluation::VARCHAR IS NULL OR evaluation = $evaluation)
    AND ($model::VARCHAR IS NULL OR model = $model)
    AND ($config::VARCHAR IS NULL OR config_hash = $config)
    AND ($occasion::VARCHAR IS NULL OR coalesce(occasion, '') = $occasion)
QUALIFY config_hash = first(config_hash) OVER (PARTITION BY evaluation ORDER BY finished_at DESC, run_id)
    AND ($occasion::VARCHAR IS NOT NULL OR row_number() OVER (
        PARTITION BY config_hash, engine_hash ORDER BY finished_at DESC, run_id
    ) = 1)
ORDER BY evaluation, model, occasion, run_id
"""


@dataclass(frozen=True)
class Run:
    """A finished run, as the table ``run`` has it; ``engine`` is the spec as it is described."""

    run_id: str
    evaluation: str
    config_hash: str
    model: str
    engine_hash: str
    occasion: str
    profile: str
    params: dict[str, Any]
    engine: dict[str, Any]
    boundary_rule: str
    code_version: str
    started_at: datetime
    finished_at: datetime


def finished_runs(
    evaluation: str | None = None,
    config: str | None = None,
    model: str | None = None,
    occasion: str | None = None,
) -> list[Run]:
    """Runs of each evaluation under its newest configuration, on the newest occasion of each model; by name.

    Args:
        evaluation, model: all if None. config, occasion: in place of the newest.

    Raises:
        WarehouseError: there is none.
    """
    wanted = {"evaluation": evaluation, "config": config, "model": model, "occasion": occasion}
    rows = Warehouse.open().query(_RUNS, wanted).to_dicts()
    if not rows:
        given = ", ".join(f"{name} {value!r}" for name, value in wanted.items() if value is not None)
        raise WarehouseError(
            f'there is no finished run{f" of {given}" if given else ""}: culturescope sql "SELECT DISTINCT '
            'evaluation, config_hash, model, occasion FROM run" shows what there is'
        )
    parsed = [row | {name: json.loads(row[name]) for name in ("params", "engine")} for row in rows]
    return [Run(**row) for row in parsed]


def every_finished_run() -> list[Run]:
    """All finished runs of models, by evaluation, configuration, occasion and version of the code."""
    rows = Warehouse.open().query(_EVERY).to_dicts()
    return [Run(**row | {name: json.loads(row[name]) for name in ("params", "engine")}) for row in rows]


def rebuilt(evaluation: Evaluation[Any, Any, Any], run: Run) -> tuple[Study, Completions]:
    """The study of a run, and what is stored of it.

    Raises:
        WarehouseError: it would ask something else today: items, files, rubrics or judges have changed.
        EngineError: a judge of it is not known any more.
    """
    about = f"{run.evaluation}, {run.model}, configuration {run.config_hash}"
    again = f"run it again, or export it with version {run.code_version} and the files of then"
    try:
        params = evaluation.params.stored({**run.params, "models": [run.model], "occasion": run.occasion})
        study, engines, _ = build(evaluation, params)
    except ValueError as error:
        raise WarehouseError(f"{about}: it cannot be asked any more ({error}): {again}") from error
    if (now := comparable(study)) != run.config_hash:
        raise WarehouseError(f"{about}: what it asked has changed since, to configuration {now}: {again}")
    return study, Completions(candidate_of(run), engines, steps.stored)


def candidate_of(run: Run) -> Engine:
    """The engine that a run evaluated, as far as reading its answers needs it."""
    kind, model = (str(run.engine.get(name, "")) for name in ("kind", "model"))
    return Engine(run.model, kind, model, run.engine_hash, occasion=run.occasion)


def samples(
    evaluation: Evaluation[Any, Any, Any], study: Study, completions: Completions
) -> Iterator[Sample]:
    """What the model of a run was asked and answered, one by one.

    Of an evaluation that makes no samples of its own, every prompt with its completion.
    """
    if evaluation.samples is not None:
        yield from evaluation.samples(study, completions)
        return
    asked: Sequence[Any] = evaluation.ask(study, completions)
    for number, request in enumerate(asked):
        if isinstance(request, Prompts):
            engine = completions.engine(request)
            yield from plain(request, completions(request), f"{request.label or number}", [engine.name])
