"""What the cure page shows, asked of the warehouse."""

from __future__ import annotations

from deployments.report_common import shared_frames
from tasks.report.cure_data import CureData
from tasks.report.cure_page import render_cure
from warehouse import Warehouse

_LEADERBOARD = """
SELECT * FROM leaderboard_cure WHERE config_hash = ?
ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], benchmark), is_null,
    tells_real_from_shuffled DESC NULLS LAST, value DESC NULLS LAST, thick_em DESC NULLS LAST,
    thin_em DESC NULLS LAST, model
"""
_DIFFERENCES = """
SELECT * FROM cure_thin_vs_thick WHERE config_hash = ? AND NOT is_null
ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], benchmark), model
"""
_VALUES = """
SELECT v.model, r.is_null, v.metric, v.slice_kind, v.slice, v.value, v.unscored_reason, v.n_scored,
    v.n_unscored, v.ci_low, v.ci_high, v.null_value
FROM metric_value AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'cure' AND r.config_hash = ?
ORDER BY r.is_null, v.model, v.metric, v.slice_kind, v.slice
"""
_COUNTRIES = "SELECT country, regexp_replace(name, '^the ', '') AS name FROM country ORDER BY country"
_VERDICTS = """
SELECT v.judge, v.rubric, split_part(v.rubric, ' ', 1) AS metric, count(*) AS n_verdicts,
    count(*) FILTER (v.verdict IS NULL) AS n_unscored, count(v.graded) AS n_graded
FROM verdict AS v
JOIN run AS r USING (run_id)
WHERE r.evaluation = 'cure' AND r.config_hash = ?
GROUP BY ALL
ORDER BY v.judge, v.rubric
"""
_VALIDATION = """
SELECT * FROM judge_validation
SEMI JOIN (
    SELECT v.judge, v.rubric
    FROM verdict AS v
    JOIN run AS r USING (run_id)
    WHERE r.evaluation = 'cure' AND r.config_hash = ?
) USING (judge, rubric)
ORDER BY judge, rubric, created_at, metric
"""


def read_data(warehouse: Warehouse, config_hash: str | None = None) -> CureData:
    """The frames of one configuration (default: the newest).

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    chosen, shared = shared_frames(warehouse, "cure", config_hash)
    return CureData(
        config_hash=chosen,
        leaderboard=warehouse.query(_LEADERBOARD, [chosen]),
        differences=warehouse.query(_DIFFERENCES, [chosen]),
        values=warehouse.query(_VALUES, [chosen]),
        countries=warehouse.query(_COUNTRIES),
        verdicts=warehouse.query(_VERDICTS, [chosen]),
        validation=warehouse.query(_VALIDATION, [chosen]),
        **shared,
    )


def page(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The page of one configuration; see ``read_data``."""
    return render_cure(read_data(warehouse, config_hash))
