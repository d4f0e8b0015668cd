"""Write a report: what a page needs is asked of the warehouse, then drawn, then put in place whole.

An evaluation has a page if its folder has a package ``report`` with a ``REPORT`` (``tasks.report``).
"""

from __future__ import annotations

import pkgutil
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import tasks.evaluations
from tasks.report import Frames, Report
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

_NEWEST = """
SELECT evaluation
FROM latest_run
WHERE list_contains(?, evaluation) AND coalesce(config_hash = ?, true)
ORDER BY finished_at DESC, evaluation
LIMIT 1
"""
_CONFIGURATIONS = "SELECT configuration FROM report_configuration WHERE evaluation = ? ORDER BY place"


def newest_evaluation(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The evaluation of the newest finished run, or of the newest one with a configuration.

    Raises:
        WarehouseError: there is no such run.
    """
    newest = warehouse.query(_NEWEST, [_evaluations(), config_hash])
    if newest.height:
        return str(newest["evaluation"][0])
    if config_hash is not None:
        raise WarehouseError(
            f"no finished run has the configuration {config_hash!r}; "
            f'culturescope sql "FROM latest_run" lists those that there are'
        )
    commands = " or ".join(f"culturescope run {name} --profile smoke" for name in _evaluations())
    raise WarehouseError(f"{warehouse.path} has no finished run to report on. Start one first: {commands}")


def usual_file(evaluation: str) -> str:
    """The name of the report's file under the home folder.

    Raises:
        WarehouseError: there is no report of that evaluation.
    """
    return _report(evaluation).file


def write_report(
    warehouse: Warehouse, path: Path, config_hash: str | None = None, evaluation: str = "spectral"
) -> Path:
    """Write the page on one configuration (default: the newest) to `path`, whole or not at all.

    Raises:
        WarehouseError: there is no report of that evaluation, no run of it has finished, none of that
            configuration, or the disk is full.
    """
    page = _report(evaluation).render(read_data(warehouse, evaluation, config_hash))
    with written_whole(path, len(page)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def read_data(warehouse: Warehouse, evaluation: str, config_hash: str | None = None) -> Any:
    """The frames of one configuration (default: the newest), as the evaluation's ``REPORT.data``.

    Raises:
        WarehouseError: there is no report of that evaluation, no run of it has finished, or none of that
            configuration.
    """
    shape: type[Frames] = _report(evaluation).data
    asked = {"evaluation": evaluation, "config_hash": _configuration(warehouse, evaluation, config_hash)}
    frames = {
        field.name: _frame(warehouse, field.metadata["view"], {by: asked[by] for by in field.metadata["by"]})
        for field in fields(shape)
        if "view" in field.metadata
    }
    return shape(config_hash=asked["config_hash"], **frames)


def _frame(warehouse: Warehouse, view: str, by: dict[str, str]) -> pl.DataFrame:
    where = " AND ".join(f"{column} = ?" for column in by) or "true"
    return warehouse.query(f"SELECT * FROM {view} WHERE {where} ORDER BY place", list(by.values()))


def _configuration(warehouse: Warehouse, evaluation: str, config_hash: str | None) -> str:
    """The configuration asked for, or the newest."""
    known: list[str] = warehouse.query(_CONFIGURATIONS, [evaluation])["configuration"].to_list()
    if not known:
        raise WarehouseError(
            f"{warehouse.path} has no finished run to report on. Start one first: "
            f"culturescope run {evaluation} --profile smoke"
        )
    if config_hash is not None and config_hash not in known:
        raise WarehouseError(
            f"no finished run of {evaluation} has the configuration {config_hash!r}; "
            f"there are: {', '.join(known)}"
        )
    return config_hash or known[0]


def _evaluations() -> list[str]:
    """Those with a report, in alphabetical order; none is imported."""
    folder = tasks.evaluations
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__) if module.ispkg)
    return [name for name in names if find_spec(f"{folder.__name__}.{name}.report")]


def _report(evaluation: str) -> Report[Any]:
    if evaluation not in (known := _evaluations()):
        raise WarehouseError(f"there is no report of {evaluation!r}; there are: {', '.join(known)}")
    report: Report[Any] = import_module(f"tasks.evaluations.{evaluation}.report").REPORT
    return report
