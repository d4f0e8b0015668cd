"""What the spectral page shows, asked of the warehouse."""

from __future__ import annotations

from deployments.report_common import shared_frames
from tasks.report import ReportData, render
from warehouse import Warehouse

# Each is asked with the configuration as its one parameter, and fills the field of ReportData of its name.
_FRAMES = {
    "leaderboard": """
SELECT * FROM leaderboard_spectral WHERE config_hash = ? ORDER BY is_null, macro_f1 DESC NULLS LAST, model
""",
    "overall": """
SELECT model, is_null, metric, value, ci_low, ci_high, null_value, n_scored, n_unscored
FROM leaderboard
WHERE evaluation = 'spectral' AND config_hash = ?
ORDER BY is_null, model, metric
""",
    "by_question": """
SELECT s.model, s.is_null, s.domain, d.label, s.question, q.variant, q.template, s.effective_rank,
    s.er_ci_low, s.er_ci_high, s.spectral_gap_ratio, s.sr_ci_low, s.sr_ci_high, s.er_sr_category,
    s.human_category, s.human_score, s.correct
FROM spectral_by_domain AS s
JOIN question AS q USING (question)
JOIN domain AS d ON d.domain = s.domain
WHERE s.config_hash = ?
ORDER BY s.is_null, s.model, s.human_score, s.domain, q.variant
""",
    "by_domain": """
SELECT v.model, r.is_null, v.metric, v.slice AS domain, v.value, v.ci_low, v.ci_high, v.null_value
FROM metric_value AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'spectral' AND r.config_hash = ? AND v.slice_kind = 'domain'
    AND v.metric IN ('reference_mass', 'paraphrase_agreement')
ORDER BY r.is_null, v.model, v.metric, v.slice
""",
    "competence": """
SELECT v.model, split_part(v.slice, '/', 1) AS domain, split_part(v.slice, '/', 2) AS country, v.value
FROM metric_value AS v
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'spectral' AND r.config_hash = ? AND NOT r.is_null AND v.metric = 'competence'
ORDER BY v.model, v.slice
""",
    "similarity": """
SELECT s.model, s.domain, s.country_a, s.country_b, s.similarity
FROM country_similarity AS s
JOIN latest_run AS r USING (run_id)
WHERE r.evaluation = 'spectral' AND r.config_hash = ? AND NOT r.is_null
ORDER BY s.model, s.domain, s.country_a, s.country_b
""",
    "countries": """
SELECT c.country, c.name, c.region
FROM country AS c
SEMI JOIN (
    SELECT split_part(v.slice, '/', 2) AS country
    FROM metric_value AS v
    JOIN latest_run AS r USING (run_id)
    WHERE r.evaluation = 'spectral' AND r.config_hash = ? AND v.metric = 'competence'
) AS asked USING (country)
ORDER BY c.country
""",
    "items": """
WITH asked AS (
    SELECT q.domain, max(u.n_rows) AS n_items
    FROM latest_run AS r
    JOIN run_request AS q USING (run_id)
    LEFT JOIN part_unit AS u ON u.request_hash = q.request_hash AND u.kind = 'item_logprob'
    WHERE r.evaluation = 'spectral' AND r.config_hash = ?
    GROUP BY q.domain
)
SELECT d.domain, d.label, asked.n_items, d.human_question, d.human_score, d.human_sd, d.human_category
FROM domain AS d
JOIN asked USING (domain)
ORDER BY d.human_score, d.domain
""",
}


def read_data(warehouse: Warehouse, config_hash: str | None = None) -> ReportData:
    """The frames of one configuration (default: the newest).

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    chosen, shared = shared_frames(warehouse, "spectral", config_hash)
    own = {field: warehouse.query(sql, [chosen]) for field, sql in _FRAMES.items()}
    return ReportData(config_hash=chosen, **shared, **own)


def page(warehouse: Warehouse, config_hash: str | None = None) -> str:
    """The page of one configuration; see ``read_data``."""
    return render(read_data(warehouse, config_hash))
