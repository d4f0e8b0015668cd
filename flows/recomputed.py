"""Metric rows made again from stored answers, to see whether the stored rows are what the answers come to.

Whoever can write the warehouse's file can change a row. So the study of every finished run is built anew, its
stored answers are read, which are held to the hashes in the names of their parts, and the rows are compared.
Nothing is generated or scored by a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose
from typing import Any

from flows import runs
from flows.stored import Run, candidate_of, every_finished_run, rebuilt
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Cohort, Completions, Evaluation
from tasks.loop import steps
from tasks.loop.requests import Engine
from tasks.loop.rows import Metric
from warehouse import Warehouse, WarehouseError

_STORED = """
SELECT r.model, m.metric, m.slice_kind, m.slice, m.value, m.unscored_reason, m.n_scored, m.n_unscored,
    m.ci_low, m.ci_high, m.null_value
FROM metric_value AS m JOIN run AS r USING (run_id)
WHERE r.config_hash = $config AND coalesce(r.occasion, '') = $occasion AND r.status = 'finished'
    AND r.code_version = $version
"""
_NUMBERS = ("value", "unscored_reason", "n_scored", "n_unscored", "ci_low", "ci_high", "null_value")
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
"""Other processors and versions of numpy round sums otherwise, by far less."""

Key = tuple[str, str, str, str]
"""model, metric, slice_kind, slice"""


@dataclass(frozen=True)
class Difference:
    """A stored number that its answers do not come to.

    Attributes:
        column: of ``metric_value``; "row" where one of the two sides has no such row.
        stored, again: the number in the warehouse, and the one that was made again.
    """

    evaluation: str
    config_hash: str
    occasion: str
    model: str
    metric: str
    slice: str
    column: str
    stored: object
    again: object


@dataclass(frozen=True)
class Recomputed:
    """The comparison of one configuration's rows on one occasion.

    Attributes:
        n_rows: rows that were compared.
        reason: why they could not be made again; "" if they were.
    """

    evaluation: str
    config_hash: str
    occasion: str
    n_rows: int
    differences: Sequence[Difference]
    reason: str = ""


def recomputed(evaluation_of: Callable[[str], Evaluation[Any, Any, Any]]) -> Iterator[Recomputed]:
    """Make the rows of every finished run again, configuration by configuration and occasion by occasion.

    Args:
        evaluation_of: an evaluation by its name.
    """

    def by(run: Run) -> tuple[str, str, str, str]:
        return run.evaluation, run.config_hash, run.occasion, run.code_version

    for (name, config, occasion, version), group in groupby(every_finished_run(), by):
        try:
            evaluation, of_group = evaluation_of(name), list(group)
            again = _rows(evaluation, of_group)
        except (WarehouseError, EngineError, KeyError, ValueError) as error:
            yield Recomputed(name, config, occasion, 0, (), str(error))
            continue
        stored = _stored(config, occasion, version)
        found = [
            Difference(name, config, occasion, key[0], key[1], "/".join(key[2:]), *difference)
            for key in sorted(stored.keys() | again.keys())
            for difference in _differences(stored.get(key), again.get(key))
        ]
        yield Recomputed(name, config, occasion, len(stored), found)


def _rows(evaluation: Evaluation[Any, Any, Any], group: Sequence[Run]) -> dict[Key, Metric]:
    """The rows of the models of one occasion, and of their null models, against the frozen cohort."""
    study, completions = rebuilt(evaluation, group[0])

    def read(engine: Engine) -> Any:
        return evaluation.read(study, Completions(engine, completions.engines, steps.stored), shared)

    shared = None
    if evaluation.shared:
        stored = Completions(None, completions.engines, steps.stored)
        shared = evaluation.shared.read(study, stored)
    engines = {run.model: candidate_of(run) for run in group}
    answers = {name: read(engine) for name, engine in engines.items()}
    here, against = {run.run_id for run in group}, dict[str, Any]()
    for past in runs.frozen(group[0].config_hash, study.params.cohort):
        name = past.engine.name
        against[name] = answers[name] if past.run_id in here else read(past.engine)
        engines.setdefault(name, past.engine)
    cohort = Cohort(dict(sorted(answers.items())), dict(sorted((against or answers).items())), engines)
    tables = evaluation.rows(study, cohort, shared).metrics
    return {(m, row.metric, row.slice_kind, row.slice): row for m, rows in tables.items() for row in rows}


def _stored(config: str, occasion: str, version: str) -> dict[Key, dict[str, Any]]:
    wanted = {"config": config, "occasion": occasion, "version": version}
    rows = Warehouse.open().query(_STORED, wanted).to_dicts()
    return {(r["model"], r["metric"], r["slice_kind"], r["slice"]): r for r in rows}


def _differences(stored: dict[str, Any] | None, again: Metric | None) -> Iterator[tuple[str, object, object]]:
    """(column, stored, made again) of each number that differs; "row" where there is only one of them."""
    if stored is None or again is None:
        yield "row", stored and stored["value"], again and again.value
        return
    for column in _NUMBERS:
        one, other = stored[column], getattr(again, column)
        if isinstance(one, float) and isinstance(other, float | int):
            if not isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE):
                yield column, one, other
        elif one != other:
            yield column, one, other
