"""Find the configuration that the command line names by profile or by the beginning of its hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from warehouse import Warehouse, WarehouseError

Profile = Annotated[
    str | None,
    typer.Option(help="profile of the configuration; default: the configuration with the most answers"),
]
Config = Annotated[
    str | None,
    typer.Option(help="config_hash, or its beginning; default: shipped content with the most answers"),
]

_OF_HASH = """
SELECT DISTINCT evaluation, config_hash FROM run
WHERE starts_with(config_hash, ?) AND status = 'finished' AND NOT is_null ORDER BY ALL
"""
_NEWEST = """
SELECT evaluation, max(finished_at) AS finished FROM run WHERE status = 'finished' AND NOT is_null
GROUP BY evaluation ORDER BY finished DESC, evaluation
"""


def chosen(
    warehouse: Warehouse,
    evaluation: str | None,
    profile: str | None,
    config: str | None,
    known: Sequence[str] | None = None,
) -> tuple[str, str, str]:
    """Return evaluation, config_hash and profiles of the configuration to show.

    Args:
        evaluation: None: the configuration's, or the newest run's.
        known: evaluations to choose from; None: all.

    Raises:
        WarehouseError: nothing fits; says what there is.
    """
    from deployments.show.report import configuration

    return configuration(warehouse, evaluation, config, known, profile)


def of_hash(warehouse: Warehouse, config: str) -> tuple[str, str]:
    """Return the evaluation and the full config_hash of a configuration whose hash begins with this.

    Raises:
        WarehouseError: no configuration fits, or several do.
    """
    rows = warehouse.query(_OF_HASH, [config]).rows()
    if len(rows) != 1:
        there = ", ".join(f"{key} ({name})" for name, key in rows)
        what = (
            f"{len(rows)} configurations begin with {config!r}: {there}"
            if rows
            else (f"no finished run has the configuration {config!r}: `culturemeter runs -f json` lists them")
        )
        raise WarehouseError(what)
    name, key = rows[0]
    return str(name), str(key)


def whole(warehouse: Warehouse, config: str | None) -> str | None:
    """Return the full config_hash that begins with this; None stays None. Raises as ``of_hash`` does."""
    return of_hash(warehouse, config)[1] if config else None


def evaluations(warehouse: Warehouse) -> list[str]:
    """Return the evaluations with finished runs, the newest first."""
    return [str(name) for name, _ in warehouse.query(_NEWEST).rows()]
