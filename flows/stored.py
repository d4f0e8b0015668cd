"""Finished runs read again: their samples, and their rows recomputed to compare them with the stored ones.

Samples are stored with the rows. Rows are recomputed from the study, which is rebuilt of the run's parameters
and of its stored content, or of the code's if it has none; its ``config_hash`` shows whether it is unchanged.
Anyone who can write the warehouse's file can change a row, so rows are recomputed from stored answers, whose
parts are checked against the hashes in their names. No model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import isclose
from typing import Any

from flows import runs
from flows.cohort import cohort_of
from flows.losses import losses, withheld
from flows.runs import FinishedRun
from flows.session import build
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Completions, Evaluation, Study, comparable
from tasks.evaluations.recipe.evaluation import restored
from tasks.loop import kept_samples, steps
from tasks.loop.kept_samples import COLUMNS, Sent, parsed, sent_in
from tasks.loop.prompts import Prompts
from tasks.loop.rows import Metric
from tasks.loop.samples import Sample, plain
from tasks.loop.written import without_reasoning
from warehouse import Warehouse, WarehouseError, read_answers

_RUNS = f"""{runs.FINISHED}
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
_STORED = """
SELECT r.model, m.metric, m.slice_kind, m.slice, m.value, m.unscored_reason, m.n_scored, m.n_unscored,
    m.ci_low, m.ci_high, m.null_value
FROM metric_value AS m JOIN run_base AS r USING (run_id)
WHERE r.config_hash = $config AND coalesce(r.occasion, '') = $occasion AND r.status = 'finished'
    AND r.code_version = $version
"""
_REPLY = ("item", "conversation", "text")
_AT_ONCE = 256
"""Most samples in memory."""
_NUMBERS = ("value", "unscored_reason", "n_scored", "n_unscored", "ci_low", "ci_high", "null_value")
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
"""Tolerances; other processors and versions of numpy round sums differently by far less."""

Key = tuple[str, str, str, str]
"""model, metric, slice_kind, slice"""


def finished_runs(
    evaluation: str | None = None,
    config: str | None = None,
    model: str | None = None,
    occasion: str | None = None,
) -> list[FinishedRun]:
    """Return each evaluation's runs under its newest configuration, on each model's newest occasion.

    Args:
        evaluation, model: None for all. config, occasion: these in place of the newest.

    Raises:
        WarehouseError: no run fits.
    """
    filters = {"evaluation": evaluation, "config": config, "model": model, "occasion": occasion}
    selected = runs.selected(_RUNS, filters)
    if not selected:
        words = ", ".join(f"{name} {value!r}" for name, value in filters.items() if value is not None)
        raise WarehouseError(
            f'no finished run{f" of {words}" if words else ""}: culturemeter sql "SELECT DISTINCT '
            'evaluation, config_hash, model, occasion FROM run" lists all'
        )
    return selected


def as_it_was(
    evaluation_of: Callable[[str], Evaluation[Any, Any, Any]], run: FinishedRun
) -> Evaluation[Any, Any, Any]:
    """Return the evaluation of a run, with the content that the run stored if it stored any.

    Args:
        evaluation_of: returns the evaluation that has a name now; raises ValueError.

    Raises:
        ValueError: there is none, and no content is stored.
    """
    try:
        own = evaluation_of(run.evaluation)
    except ValueError:
        if run.content is None:
            raise
        own = None
    if run.content is None:
        assert own is not None
        return own
    rows = steps.stored("content", run.content, [run.content], ("place", "part_of", "body"))
    make = own.restored if own and own.restored else partial(restored, None, None)
    return make(run.evaluation, rows.sort("place").to_dicts())


def rebuilt(evaluation: Evaluation[Any, Any, Any], run: FinishedRun) -> tuple[Study, Completions]:
    """Return the study of a run and its stored completions.

    Raises:
        WarehouseError: its requests have changed, with items, files, rubrics or judges.
        EngineError: one of its judges is unknown now.
    """
    head = f"{run.evaluation}, {run.model}, configuration {run.config_hash}"
    advice = f"run it again, or export it with version {run.code_version} and the files of that time"
    try:
        params = evaluation.params(**{**run.params, "models": [run.model], "occasion": run.occasion})
        study, engines, _ = build(evaluation, params)
    except ValueError as error:
        raise WarehouseError(f"{head}: its requests cannot be rebuilt ({error}): {advice}") from error
    if refused := evaluation.refused(study):
        raise WarehouseError(f"{head}: {refused}")
    if (now := comparable(study)) != run.config_hash:
        raise WarehouseError(
            f"{head}: its requests have changed since; they now belong to configuration {now}: {advice}"
        )
    return study, Completions(run.candidate, engines, steps.stored)


def samples(run: FinishedRun) -> Iterator[Sample]:
    """Yield a run's samples as they were stored with its rows: no content of today is read.

    Raises:
        WarehouseError: none are stored. CorruptPart: a part cannot be read.
    """
    warehouse = Warehouse.open()
    rows = steps.stored("sample", run.run_id, [run.config_hash], COLUMNS)
    if rows.is_empty():
        raise WarehouseError(f"{run.evaluation}, {run.model}: no samples are stored: run it again")
    for batch in rows.iter_slices(_AT_ONCE):
        rows_of_batch = parsed(batch.to_dicts())
        by_request: dict[str, list[str]] = {}
        for sent in sent_in(rows_of_batch):
            by_request.setdefault(sent.request, []).append(sent.prompt)
        replies = {
            Sent(request, row["item"]): (json.loads(row["conversation"]), without_reasoning(row["text"]))
            for request, prompts in by_request.items()
            for row in read_answers(warehouse, "response", request, prompts, _REPLY).to_dicts()
        }
        yield from kept_samples.samples_of(rows_of_batch, replies.__getitem__)


def samples_of(
    evaluation: Evaluation[Any, Any, Any], study: Study, completions: Completions
) -> Iterator[Sample]:
    """Yield a model's samples; for an evaluation that defines none, each prompt with its completion."""
    if evaluation.samples is not None:
        yield from evaluation.samples(study, completions)
        return
    requests: Sequence[Any] = evaluation.ask(study, completions)
    for number, request in enumerate(requests):
        if isinstance(request, Prompts):
            engine = completions.engine(request)
            yield from plain(request, completions(request), f"{request.label or number}", [engine.name])


@dataclass(frozen=True)
class StoredDifference:
    """A stored number that differs from the one recomputed from its answers.

    Attributes:
        column: of ``metric_value``; "row" if only one side has the row.
        stored, recomputed: the number in the warehouse and the recomputed one.
    """

    evaluation: str
    config_hash: str
    occasion: str
    model: str
    metric: str
    slice: str
    column: str
    stored: object
    recomputed: object


@dataclass(frozen=True)
class RecomputedRows:
    """The comparison of one configuration's rows on one occasion.

    Attributes:
        n_rows: number of rows compared.
        reason: why they could not be recomputed; "" if they were.
    """

    evaluation: str
    config_hash: str
    occasion: str
    n_rows: int
    differences: Sequence[StoredDifference]
    reason: str = ""


def recomputed(evaluation_of: Callable[[str], Evaluation[Any, Any, Any]]) -> Iterator[RecomputedRows]:
    """Recompute the rows of every finished run, by configuration, occasion and code version.

    Args:
        evaluation_of: returns the evaluation of a name.
    """

    def group_key(run: FinishedRun) -> tuple[str, str, str, str]:
        return run.evaluation, run.config_hash, run.occasion, run.code_version

    every = sorted(runs.every_finished(as_saved=True), key=lambda run: (*group_key(run), run.model))
    for (name, config, occasion, version), runs_of_group in groupby(every, group_key):
        group = list(runs_of_group)
        try:
            new = _rows(as_it_was(evaluation_of, group[0]), group)
        except (WarehouseError, EngineError, KeyError, ValueError) as error:
            yield RecomputedRows(name, config, occasion, 0, (), str(error))
            continue
        stored = _stored(config, occasion, version)
        differences = [
            StoredDifference(name, config, occasion, key[0], key[1], "/".join(key[2:]), *difference)
            for key in sorted(stored.keys() | new.keys())
            for difference in _differences(stored.get(key), new.get(key))
        ]
        yield RecomputedRows(name, config, occasion, len(stored), differences)


def _rows(evaluation: Evaluation[Any, Any, Any], group: Sequence[FinishedRun]) -> dict[Key, Metric]:
    """Return the rows of one occasion's models and null models, compared with the frozen cohort."""
    study, completions = rebuilt(evaluation, group[0])
    engines, shared = completions.engines, None
    if evaluation.shared:
        shared = evaluation.shared.read(study, Completions(None, engines, steps.stored))

    def read(run: FinishedRun) -> Any:
        return evaluation.read(study, Completions(run.candidate, engines, steps.stored), shared)

    own = {run.model: run.run_id for run in group}
    frozen = runs.frozen(group[0].config_hash, study.params.cohort)
    selection = cohort_of(own, frozen, others=(), new=own, compares=evaluation.compares)
    answers, earlier = ({run.model: read(run) for run in each} for each in (group, selection.earlier))
    cohort = selection.cohort(answers, earlier, {run.model: run.candidate for run in group})
    tables = dict(evaluation.rows(study, cohort, shared).metrics)
    for run in group:
        stored = Completions(run.candidate, engines, steps.stored)
        lost = losses(evaluation.ask(study, stored), stored, {})
        tables[run.model] = withheld(tables.get(run.model, ()), lost)
    return {(m, row.metric, row.slice_kind, row.slice): row for m, rows in tables.items() for row in rows}


def _stored(config: str, occasion: str, version: str) -> dict[Key, dict[str, Any]]:
    """Return the stored rows of a configuration's finished runs on an occasion, by key."""
    values = {"config": config, "occasion": occasion, "version": version}
    rows = Warehouse.open().query(_STORED, values).to_dicts()
    return {(r["model"], r["metric"], r["slice_kind"], r["slice"]): r for r in rows}


def _differences(stored: dict[str, Any] | None, new: Metric | None) -> Iterator[tuple[str, object, object]]:
    """Yield (column, stored, recomputed) of each number that differs; column "row" if one side has no row."""
    if stored is None or new is None:
        yield "row", stored and stored["value"], new and new.value
        return
    for column in _NUMBERS:
        before, after = stored[column], getattr(new, column)
        if isinstance(before, float) and isinstance(after, float | int):
            if not isclose(before, after, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE):
                yield column, before, after
        elif before != after:
            yield column, before, after
