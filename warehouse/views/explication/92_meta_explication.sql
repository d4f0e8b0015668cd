CREATE OR REPLACE VIEW meta_explication AS
WITH own AS (
    SELECT r.config_hash, r.model_hash, v.slice AS condition, v.metric, v.value
    FROM model_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'explication' AND v.slice_kind = 'condition' AND v.value IS NOT NULL
        AND v.metric IN ('apr', 'interaction', 'instruction_following', 'facts_elicited')
), other AS (
    SELECT r.evaluation, NULL AS config_hash, v.metric, v.slice_kind, v.slice, r.model_hash, v.value
    FROM shown_run AS r
    JOIN metric_value AS v USING (run_id)
    JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
    WHERE v.value IS NOT NULL AND r.evaluation <> 'explication'
        AND (v.slice_kind = 'overall' AND (m.is_headline OR v.metric = 'macro_f1')
            OR (r.evaluation = 'cure' AND v.slice_kind = 'benchmark_mode' AND m.is_headline))
    UNION ALL
    SELECT 'explication' AS evaluation, config_hash, metric, 'condition' AS slice_kind, condition AS slice, model_hash, value
    FROM own
    WHERE metric = 'instruction_following'
    UNION ALL
    -- Places are negated, so that more is better here too.
    SELECT 'external', NULL, benchmark, 'overall', 'all', model_hash, -min(place)
    FROM external_ranking
    WHERE model_hash IS NOT NULL
    GROUP BY benchmark, model_hash
), pair AS (
    SELECT own.config_hash, own.condition, own.metric, other.evaluation AS other_evaluation, other.metric AS other_metric,
        other.slice AS other_slice, own.model_hash, own.value AS value, other.value AS other_value,
        rank() OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice ORDER BY own.value) + (count(*) OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice, own.value) - 1) / 2.0 AS own_rank,
        rank() OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice ORDER BY other.value) + (count(*) OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice, other.value) - 1) / 2.0 AS other_rank
    FROM own
    JOIN other ON other.model_hash = own.model_hash AND coalesce(other.config_hash, own.config_hash) = own.config_hash
        AND NOT (other.evaluation = 'explication' AND (other.metric = own.metric OR other.slice <> own.condition))
)
-- Correlations are rounded, because sums in another order differ in the last digits: full agreement is exactly 1.
SELECT config_hash, condition, metric, other_evaluation, other_metric, other_slice, count(*) AS n_models,
    CASE WHEN count(*) > 2 AND stddev_pop(value) > 0 AND stddev_pop(other_value) > 0 THEN round(corr(value, other_value), 12) END AS pearson,
    CASE WHEN count(*) > 2 AND stddev_pop(value) > 0 AND stddev_pop(other_value) > 0 THEN round(corr(own_rank, other_rank), 12) END AS spearman,
    list(model_hash ORDER BY model_hash) AS model_hashes, list(value ORDER BY model_hash) AS own_values,
    list(other_value ORDER BY model_hash) AS other_values,
    row_number() OVER (PARTITION BY config_hash ORDER BY other_evaluation, other_metric, other_slice, metric, condition) AS place
FROM pair
GROUP BY config_hash, condition, metric, other_evaluation, other_metric, other_slice;

COMMENT ON VIEW meta_explication IS 'Relation of explication to knowledge: correlations over models with the other evaluations'' headline numbers, in the configuration that pages show (shown_run), and with external rankings. culturemeter ranking --explication shows intervals, tests and differences.';
COMMENT ON COLUMN meta_explication.config_hash IS 'Configuration of the explication runs.';
COMMENT ON COLUMN meta_explication.condition IS 'control or treatment.';
COMMENT ON COLUMN meta_explication.metric IS 'Number of explication.';
COMMENT ON COLUMN meta_explication.other_evaluation IS 'Evaluation of the other number; explication itself for instruction following, "external" for a ranking of external_ranking.';
COMMENT ON COLUMN meta_explication.other_metric IS 'Metric of that evaluation, or benchmark of the external ranking.';
COMMENT ON COLUMN meta_explication.other_slice IS 'Slice of that metric, such as normad:thin.';
COMMENT ON COLUMN meta_explication.n_models IS 'Number of models that have both numbers: read it before the correlation. The paper has six models.';
COMMENT ON COLUMN meta_explication.pearson IS 'Pearson''s r over models; NULL for fewer than three, or if a number does not vary.';
COMMENT ON COLUMN meta_explication.spearman IS 'Spearman''s rho over models, ties share their mean rank; NULL if pearson is NULL.';
COMMENT ON COLUMN meta_explication.model_hashes IS 'These models (run.model_hash); own_values and other_values have the same order.';
COMMENT ON COLUMN meta_explication.own_values IS 'Explication numbers of these models, in the order of model_hashes.';
COMMENT ON COLUMN meta_explication.other_values IS 'Other numbers of these models, in the order of model_hashes; for a ranking the negative place, so that more is better.';
COMMENT ON COLUMN meta_explication.place IS 'Order of the rows.';
