"""What the fmlama page shows, asked of the warehouse."""

from __future__ import annotations

from deployments.report_common import shared_frames
from tasks.report.fmlama_data import FmlamaData
from tasks.report.fmlama_page import render_fmlama
from warehouse import Warehouse

# Each is asked with the configuration as its one parameter, and fills the field of FmlamaData of its name.
_FRAMES = {
    "leaderboard": """
SELECT * FROM leaderboard_fmlama WHERE config_hash = ?
ORDER BY main_language, subject_language, country_mentioned, is_null, map DESC NULLS LAST, model
""",
    "values": """
SELECT v.model, r.is_null, split_part(v.slice, ':', 1) AS main_language,
    split_part(v.slice, ':', 2) AS subject_language, split_part(v.slice, ':', 3) = 'yes' AS country_mentioned,
    CASE v.slice_kind WHEN 'condition_origin' THEN split_part(v.slice, ':', 4) END AS origin,
    v.metric, v.value, v.unscored_reason, v.n_scored, v.n_unscored, v.ci_low, v.ci_high, v.null_value
FROM metric_value AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'fmlama' AND r.config_hash = ? AND v.slice_kind IN ('condition', 'condition_origin')
ORDER BY r.is_null, v.model, v.slice, v.metric
""",
    "dishes": """
SELECT p.main_language, p.origin, count(DISTINCT p.dish) AS n_dishes
FROM prediction AS p
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'fmlama' AND r.config_hash = ? AND p.main_language = p.subject_language
GROUP BY ALL
ORDER BY ALL
""",
    "switching": """
SELECT * FROM fmlama_code_switching WHERE config_hash = ?
ORDER BY is_null, model, main_language, subject_language
""",
    "errors": """
SELECT * FROM fmlama_errors WHERE config_hash = ? AND rank <= 5 AND main_language = subject_language
ORDER BY is_null, model, main_language, country_mentioned, origin, rank
""",
    "predicted": """
WITH counted AS (
    SELECT p.model, p.main_language, p.country_mentioned, p.candidate, count(*) AS times,
        count(*) FILTER (p.outcome = 'correct') / count(*) AS correct
    FROM prediction AS p
    JOIN latest_run AS r USING (run_id)
    WHERE r.evaluation = 'fmlama' AND r.config_hash = ? AND p.main_language = p.subject_language
    GROUP BY ALL
)
SELECT *, times / sum(times) OVER same AS share,
    row_number() OVER (same ORDER BY times DESC, candidate) AS rank
FROM counted
WINDOW same AS (PARTITION BY model, main_language, country_mentioned)
QUALIFY rank <= 5
ORDER BY model, main_language, country_mentioned, rank
""",
    "judged": """
SELECT v.judge, v.rubric, count(*) AS n_predictions, count(*) FILTER (v.verdict IS NULL) AS n_unscored
FROM verdict AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'fmlama' AND r.config_hash = ?
GROUP BY ALL
ORDER BY ALL
""",
}


def read_data(warehouse: Warehouse, config_hash: str | None = None) -> FmlamaData:
    """The frames of one configuration (default: the newest).

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    chosen, shared = shared_frames(warehouse, "fmlama", config_hash)
    own = {field: warehouse.query(sql, [chosen]) for field, sql in _FRAMES.items()}
    return FmlamaData(config_hash=chosen, **shared, **own)


def page(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The page of one configuration; see ``read_data``."""
    return render_fmlama(read_data(warehouse, config_hash))
