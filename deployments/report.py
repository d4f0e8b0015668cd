"""Write the report: what the page needs is asked of the warehouse, then drawn, then put in place whole."""

from __future__ import annotations

from pathlib import Path

from tasks.report import ReportData, render
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

_CONFIGURATIONS = """
SELECT config_hash, string_agg(DISTINCT profile, ', ' ORDER BY profile) AS profile,
    count(*) FILTER (NOT is_null) AS n_models, max(finished_at) AS finished_at
FROM latest_run
WHERE evaluation = 'spectral'
GROUP BY config_hash
ORDER BY finished_at DESC, config_hash
"""
_METRICS = "SELECT * EXCLUDE (evaluation) FROM metric WHERE evaluation = 'spectral' ORDER BY rowid"
_SOURCES = "SELECT file, source, version, licence, retrieved, build, notes FROM source ORDER BY file"

# Each is asked with the configuration as its one parameter, and fills the field of ReportData of its name.
_OF_CONFIGURATION = {
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
    "runs": """
SELECT run.run_id, run.model, run.is_null, run.profile, run.code_version, run.engine::VARCHAR AS engine,
    run.params::VARCHAR AS params, run.boundary_rule, run.started_at, run.finished_at
FROM run
SEMI JOIN latest_run USING (run_id)
WHERE run.evaluation = 'spectral' AND run.config_hash = ?
ORDER BY run.is_null, run.model
""",
    "unscored": """
WITH lost AS (
    SELECT v.model, v.metric, v.slice_kind, split_part(v.slice, '/', 1) AS slice, v.unscored_reason,
        sum(v.n_unscored)::BIGINT AS n_unscored
    FROM metric_value AS v
    JOIN latest_run AS r USING (run_id)
    WHERE r.evaluation = 'spectral' AND r.config_hash = ? AND NOT r.is_null AND v.value IS NULL
    GROUP BY ALL
), of_slice AS (
    SELECT model, string_agg(metric, ', ' ORDER BY metric) AS metric, slice_kind, slice, unscored_reason,
        max(n_unscored) AS n_unscored
    FROM lost
    GROUP BY model, slice_kind, slice, unscored_reason
)
SELECT model, metric, slice_kind, string_agg(slice, ', ' ORDER BY slice) AS slice, unscored_reason,
    sum(n_unscored)::BIGINT AS n_unscored
FROM of_slice
GROUP BY model, metric, slice_kind, unscored_reason
ORDER BY model, slice_kind, metric, unscored_reason
""",
}


def write_report(warehouse: Warehouse, path: Path, config_hash: str | None = None) -> Path:
    """Write the page on one configuration (default: the newest) to `path`, whole or not at all.

    Raises:
        WarehouseError: no run has finished, none of that configuration, or the disk is full.
    """
    page = render(read_data(warehouse, config_hash))
    with written_whole(path, len(page)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def read_data(warehouse: Warehouse, config_hash: str | None = None) -> ReportData:
    """What the page shows of one configuration (default: the newest).

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    configurations = warehouse.query(_CONFIGURATIONS)
    if configurations.is_empty():
        raise WarehouseError(
            f"{warehouse.path} has no finished run to report on. Start one first: culturescope run spectral "
            f"--profile smoke"
        )
    known = configurations["config_hash"].to_list()
    chosen = known[0] if config_hash is None else config_hash
    if chosen not in known:
        raise WarehouseError(
            f"no finished run has the configuration {chosen!r}; there are: {', '.join(known)}"
        )
    return ReportData(
        config_hash=chosen,
        metrics=warehouse.query(_METRICS),
        sources=warehouse.query(_SOURCES),
        configurations=configurations,
        **{field: warehouse.query(sql, [chosen]) for field, sql in _OF_CONFIGURATION.items()},
    )
