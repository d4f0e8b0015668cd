"""Which rows of a leaderboard are shown: those of one configuration, in the order of its view."""

from __future__ import annotations

import polars as pl

from deployments.evaluations import doors
from warehouse import Warehouse, WarehouseError

_FINISHED = """
SELECT evaluation, config_hash, string_agg(DISTINCT profile, ', ' ORDER BY profile) AS profiles
FROM latest_run
WHERE list_contains(?, evaluation) AND NOT is_null
GROUP BY evaluation, config_hash
ORDER BY max(finished_at) DESC, evaluation, config_hash
"""


def configuration(warehouse: Warehouse, evaluation: str | None, config: str | None) -> tuple[str, str, str]:
    """The evaluation, the configuration and its profiles; what is None is that of the newest finished run.

    Raises:
        WarehouseError: there is no such evaluation, or no finished run of it; says which there are.
    """
    names = list(doors())
    if evaluation is not None and evaluation not in names:
        raise WarehouseError(f"there is no evaluation {evaluation!r}; there are: {', '.join(names)}")
    finished = warehouse.query(_FINISHED, [[evaluation] if evaluation else names]).rows()
    if not finished:
        commands = " or ".join(
            f"culturescope run {n} --profile smoke" for n in names if evaluation in (None, n)
        )
        raise WarehouseError(f"no finished run to show; start one with: {commands}")
    chosen = next((row for row in finished if config in (None, row[1])), None)
    if chosen is None:
        of = f" of {evaluation}" if evaluation else ""
        known = ", ".join(key for _, key, _ in finished)
        raise WarehouseError(f"no finished run{of} has the configuration {config!r}; there are: {known}")
    name, key, profiles = chosen
    return name, key, profiles


def rows(warehouse: Warehouse, evaluation: str, config: str) -> pl.DataFrame:
    """The rows of one configuration, by place."""
    return warehouse.query(
        f"SELECT * FROM leaderboard_{evaluation} WHERE config_hash = ? ORDER BY place", [config]
    )
