-- Slices such as domain/country are grouped by their first part; metrics and slices of one reason share a row.
CREATE OR REPLACE VIEW report_unscored AS
WITH lost AS (
    SELECT r.evaluation, r.config_hash, v.model, v.metric, v.slice_kind, split_part(v.slice, '/', 1) AS slice,
        v.unscored_reason, sum(v.n_unscored)::BIGINT AS n_unscored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE NOT r.is_null AND v.value IS NULL
    GROUP BY ALL
), of_slice AS (
    SELECT evaluation, config_hash, model, string_agg(metric, ', ' ORDER BY metric) AS metric, slice_kind, slice,
        unscored_reason, max(n_unscored) AS n_unscored
    FROM lost
    GROUP BY ALL
), of_reason AS (
    SELECT evaluation, config_hash, model, metric, slice_kind, string_agg(slice, ', ' ORDER BY slice) AS slice,
        unscored_reason, sum(n_unscored)::BIGINT AS n_unscored
    FROM of_slice
    GROUP BY ALL
)
SELECT evaluation, config_hash,
    row_number() OVER (
        PARTITION BY evaluation, config_hash ORDER BY model, slice_kind, metric, unscored_reason
    ) AS place,
    model, metric, slice_kind, slice, unscored_reason, n_unscored
FROM of_reason;

COMMENT ON VIEW report_unscored IS 'Unscored points with their reason: one row per model and reason, without null models.';
COMMENT ON COLUMN report_unscored.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_unscored.place IS 'Order in the configuration, from 1: by model and kind of slice.';
COMMENT ON COLUMN report_unscored.metric IS 'The metrics that have no value for this reason, separated by commas.';
COMMENT ON COLUMN report_unscored.slice_kind IS 'Kind of slices: overall, domain, question, country and so on.';
COMMENT ON COLUMN report_unscored.slice IS 'Slices, separated by commas.';
COMMENT ON COLUMN report_unscored.unscored_reason IS 'Why there is no value.';
COMMENT ON COLUMN report_unscored.n_unscored IS 'Number of lost points: the largest over the metrics, summed over the slices.';
