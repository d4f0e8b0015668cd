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

_WITHOUT = """
SELECT r.model, v.unscored_reason, string_agg(DISTINCT m.label, ', ' ORDER BY m.label)
FROM run AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
WHERE v.value IS NULL AND r.run_id IN (SELECT unnest(?))
GROUP BY ALL ORDER BY ALL
"""


def without_number(warehouse: Warehouse, runs: Collection[str]) -> list[str]:
    """Return a line for each model of runs, and reason, with its headlines that have no number."""
    rows = warehouse.rows(_WITHOUT, [[*runs]]).rows
    return [f"{model}: no {labels}: {reason or 'nothing was scored'}" for model, reason, labels in rows]


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
