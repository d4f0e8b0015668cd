CREATE OR REPLACE VIEW cure_over_models AS
WITH score AS (
    SELECT r.config_hash, split_part(v.slice, ':', 1) AS benchmark,
        split_part(v.slice, ':', 2) AS mode, v.metric, v.model, v.value, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND NOT r.is_null AND v.slice_kind = 'benchmark_mode'
        AND v.metric IN ('exact_match', 'f1_micro', 'f1_macro') AND v.value IS NOT NULL
)
SELECT config_hash, benchmark, metric, mode, count(*) AS n_models, avg(value) AS mean, median(value) AS median,
    min(value) AS lowest, max(value) AS highest,
    CASE WHEN count(*) > 1 THEN quantile_cont(value, 0.75) - quantile_cont(value, 0.25) END AS iqr,
    var_samp(value) AS variance, max(finished_at) AS finished_at
FROM score
GROUP BY config_hash, benchmark, metric, mode;

COMMENT ON VIEW cure_over_models IS 'Spread of models'' label scores by benchmark and mode, as in figures 2 and 3 of Vo and Koyejo 2025. Null models are left out.';
COMMENT ON COLUMN cure_over_models.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN cure_over_models.metric IS 'exact_match, f1_micro or f1_macro.';
COMMENT ON COLUMN cure_over_models.mode IS 'thin: the label alone. thick: with an explanation.';
COMMENT ON COLUMN cure_over_models.n_models IS 'Number of models that have the score.';
COMMENT ON COLUMN cure_over_models.mean IS 'Mean over the models.';
COMMENT ON COLUMN cure_over_models.median IS 'Median over the models.';
COMMENT ON COLUMN cure_over_models.lowest IS 'Score of the lowest model.';
COMMENT ON COLUMN cure_over_models.highest IS 'Score of the highest model.';
COMMENT ON COLUMN cure_over_models.iqr IS 'Interquartile range, linear interpolation; NULL for fewer than two models.';
COMMENT ON COLUMN cure_over_models.variance IS 'Variance (ddof 1); NULL for fewer than two models.';
COMMENT ON COLUMN cure_over_models.finished_at IS 'When the last of their runs ended (UTC).';
