"""Reads what finished runs have lost, and what those that ended early were sent, for people."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from tasks.report.sentences import WORTH_SAYING, Loss, in_words
from warehouse import Warehouse

_NEWEST = """
WITH newest AS (
    SELECT run_id, model, params FROM run
    WHERE status = 'finished' AND evaluation = ? AND config_hash = ?
    QUALIFY row_number() OVER (PARTITION BY engine_hash ORDER BY finished_at DESC, run_id) = 1
)
"""
_LOSSES = f"""
{_NEWEST}
SELECT newest.model, l.role, l.engine, l.reason, l.n_lost, l.n
FROM answer_loss AS l JOIN newest ON l.request_hash = newest.run_id
ORDER BY newest.model, l.role, l.engine, l.n_lost DESC, l.reason
"""
_SENT = f"""
{_NEWEST}
SELECT newest.model, newest.params->>'until', round(v.value * v.n_scored)::INTEGER, v.n_scored,
    h.value, h.ci_low, h.ci_high
FROM metric_value AS v JOIN newest USING (run_id)
LEFT JOIN metric_value AS h ON h.run_id = v.run_id AND h.slice_kind = 'overall' AND h.ci_low IS NOT NULL
    AND h.metric <> 'difference_from_other'
WHERE v.metric = 'share_sent' AND v.slice_kind = 'overall' ORDER BY newest.model
"""


def sent(warehouse: Warehouse, evaluation: str, config: str) -> list[str]:
    """Return a line for each model of a configuration whose runs end early: what it was sent, its headline,
    and what the interval is.
    """
    return [
        f"{model}: {n:,} of {n_all:,} items sent ({n / n_all:.0%}) until {rule}: "
        + ("it has no interval" if low is None else f"{value:.3f} [{low:.3f}, {high:.3f}]; {_holds(rule)}")
        for model, rule, n, n_all, value, low, high in warehouse.rows(_SENT, [evaluation, config]).rows
    ]


def sent_and_lost(warehouse: Warehouse, evaluation: str, config: str) -> list[str]:
    """Return the lines of a board or page about answers: what was sent, and what is lost."""
    return [*sent(warehouse, evaluation, config), *losses(warehouse, evaluation, config)]


def _holds(rule: str) -> str:
    """Return what the interval of a run with this rule is."""
    if rule.startswith("width"):
        return "its interval is of the mean of these items alone, and holds at every look"
    return "its interval holds at every look, whenever the run ended"


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
