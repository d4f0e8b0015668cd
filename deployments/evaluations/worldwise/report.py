"""What the worldwise page shows, asked of the warehouse."""

from __future__ import annotations

from deployments.report_common import shared_frames
from tasks.report.worldwise_data import WorldwiseData
from tasks.report.worldwise_page import render_worldwise
from warehouse import Warehouse

_LEADERBOARD = """
SELECT * FROM leaderboard_worldwise WHERE config_hash = ?
ORDER BY is_null, alignment_gain DESC NULLS LAST, alignment DESC NULLS LAST, model
"""
_VALUES = """
SELECT v.model, r.is_null, v.metric, v.slice_kind, v.slice, v.value, v.unscored_reason, v.n_scored,
    v.n_unscored, v.ci_low, v.ci_high, v.null_value
FROM metric_value AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'worldwise' AND r.config_hash = ?
ORDER BY r.is_null, v.model, v.metric, v.slice_kind, v.slice
"""
# A dimension may be named with its framework, where two frameworks have one of that name.
_LABELS = """
SELECT kind, key, label
FROM (
    SELECT 1 AS place, rowid AS line, 'culture' AS kind, country AS key,
        regexp_replace(name, '^the ', '') AS label
    FROM country
    UNION ALL
    SELECT 2, rowid, 'value', value, label FROM guiding_value
    UNION ALL
    SELECT 3, rowid, 'dimension', dimension, label FROM dimension
    UNION ALL
    SELECT 4, rowid, 'dimension', framework || '_' || dimension, label FROM dimension
)
ORDER BY place, line
"""
_SCENARIOS = "SELECT scenario, dimension, category, region FROM scenario ORDER BY rowid"


def read_data(warehouse: Warehouse, config_hash: str | None = None) -> WorldwiseData:
    """The frames of one configuration (default: the newest).

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    chosen, shared = shared_frames(warehouse, "worldwise", config_hash)
    return WorldwiseData(
        config_hash=chosen,
        leaderboard=warehouse.query(_LEADERBOARD, [chosen]),
        values=warehouse.query(_VALUES, [chosen]),
        labels=warehouse.query(_LABELS),
        scenarios=warehouse.query(_SCENARIOS),
        **shared,
    )


def page(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The page of one configuration; see ``read_data``."""
    return render_worldwise(read_data(warehouse, config_hash))
