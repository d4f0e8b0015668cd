"""Reads what finished runs have lost, for the end of a run and for leaderboards."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from tasks.report.losses import WORTH_SAYING, Loss, in_words
from warehouse import Warehouse

_LOSSES = """
WITH newest AS (
    SELECT run_id, model FROM run WHERE status = 'finished' AND evaluation = ? AND config_hash = ?
    QUALIFY row_number() OVER (PARTITION BY engine_hash ORDER BY finished_at DESC, run_id) = 1
)
SELECT newest.model, l.role, l.engine, l.reason, l.n_lost, l.n
FROM answer_loss AS l JOIN newest ON l.request_hash = newest.run_id
ORDER BY newest.model, l.role, l.engine, l.n_lost DESC, l.reason
"""


def losses(
    warehouse: Warehouse,
    evaluation: str,
    config: str,
    models: Collection[str] | None = None,
    above: float = WORTH_SAYING,
) -> list[str]:
    """Return a line for each engine that lost answers in the newest runs of a configuration.

    Args:
        models: of these models; None: of all.
        above: share of an engine's answers that must be lost for a line.
    """
    lines: list[str] = []
    for model, rows in groupby(warehouse.rows(_LOSSES, [evaluation, config]).rows, key=lambda row: row[0]):
        if models is None or model in models:
            lines += in_words(model, (Loss(*row[1:]) for row in rows), above)
    return lines
