"""What every report page shows, whatever the evaluation: metrics, sources, runs, what is unscored."""

from __future__ import annotations

import polars as pl

from warehouse import Warehouse, WarehouseError

_CONFIGURATIONS = """
SELECT config_hash, string_agg(DISTINCT profile, ', ' ORDER BY profile) AS profile,
    count(*) FILTER (NOT is_null) AS n_models, max(finished_at) AS finished_at
FROM latest_run
WHERE evaluation = ?
GROUP BY config_hash
ORDER BY finished_at DESC, config_hash
"""
_METRICS = "SELECT * EXCLUDE (evaluation) FROM metric WHERE evaluation = ? ORDER BY rowid"
_SOURCES = "SELECT file, source, version, licence, retrieved, build, notes FROM source ORDER BY file"

# These are asked with the evaluation and the configuration.
_OF_CONFIGURATION = {
    "runs": """
SELECT run.run_id, run.model, run.is_null, run.profile, run.code_version, run.engine::VARCHAR AS engine,
    run.params::VARCHAR AS params, run.boundary_rule, run.started_at, run.finished_at
FROM run
SEMI JOIN latest_run USING (run_id)
WHERE run.evaluation = ? AND run.config_hash = ?
ORDER BY run.is_null, run.model
""",
    "unscored": """
WITH lost AS (
    SELECT v.model, v.metric, v.slice_kind, split_part(v.slice, '/', 1) AS slice, v.unscored_reason,
        sum(v.n_unscored)::BIGINT AS n_unscored
    FROM metric_value AS v
    JOIN latest_run AS r USING (run_id)
    WHERE r.evaluation = ? AND r.config_hash = ? AND NOT r.is_null AND v.value IS NULL
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


def shared_frames(
    warehouse: Warehouse, evaluation: str, config_hash: str | None
) -> tuple[str, dict[str, pl.DataFrame]]:
    """Which configuration the page is on (default: the newest), and the frames that all pages have.

    Raises:
        WarehouseError: no run of the evaluation has finished, or none of that configuration.
    """
    configurations = warehouse.query(_CONFIGURATIONS, [evaluation])
    if configurations.is_empty():
        raise WarehouseError(
            f"{warehouse.path} has no finished run to report on. Start one first: "
            f"culturescope run {evaluation} --profile smoke"
        )
    known = configurations["config_hash"].to_list()
    chosen = known[0] if config_hash is None else config_hash
    if chosen not in known:
        raise WarehouseError(
            f"no finished run of {evaluation} has the configuration {chosen!r}; there are: {', '.join(known)}"
        )
    frames = {
        "metrics": warehouse.query(_METRICS, [evaluation]),
        "sources": warehouse.query(_SOURCES),
        "configurations": configurations,
    }
    own = {field: warehouse.query(sql, [evaluation, chosen]) for field, sql in _OF_CONFIGURATION.items()}
    return chosen, frames | own
