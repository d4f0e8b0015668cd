"""Write a report: what its page needs is asked of the warehouse, then drawn, then put in place whole."""

from __future__ import annotations

from pathlib import Path

from deployments.evaluations import Page, evaluations
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

_NEWEST = """
SELECT evaluation
FROM latest_run
WHERE list_contains(?, evaluation) AND coalesce(config_hash = ?, true)
ORDER BY finished_at DESC, evaluation
LIMIT 1
"""


def newest_evaluation(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The evaluation of the newest finished run, or of the newest one with a configuration.

    Raises:
        WarehouseError: there is no such run.
    """
    found = warehouse.query(_NEWEST, [list(evaluations()), config_hash])
    if found.height:
        return str(found["evaluation"][0])
    if config_hash is not None:
        raise WarehouseError(
            f"no finished run has the configuration {config_hash!r}; "
            f'culturescope sql "FROM latest_run" lists those that there are'
        )
    commands = " or ".join(f"culturescope run {name} --profile smoke" for name in evaluations())
    raise WarehouseError(f"{warehouse.path} has no finished run to report on. Start one first: {commands}")


def usual_file(evaluation: str) -> str:
    """The name of the report's file under the home folder.

    Raises:
        WarehouseError: there is no report of that evaluation.
    """
    return _page(evaluation).file


def write_report(
    warehouse: Warehouse, path: Path, config_hash: str | None = None, evaluation: str = "spectral"
) -> Path:
    """Write the page on one configuration (default: the newest) to `path`, whole or not at all.

    Raises:
        WarehouseError: there is no report of that evaluation, no run of it has finished, none of that
            configuration, or the disk is full.
    """
    page = _page(evaluation).make(warehouse, config_hash)
    with written_whole(path, len(page)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _page(evaluation: str) -> Page:
    known = evaluations()
    if evaluation not in known:
        raise WarehouseError(f"there is no report of {evaluation!r}; there are: {', '.join(known)}")
    return known[evaluation].page
