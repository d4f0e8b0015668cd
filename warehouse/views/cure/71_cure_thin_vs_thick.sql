CREATE OR REPLACE VIEW cure_thin_vs_thick AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        split_part(v.slice, ':', 2) AS mode, v.metric, v.value, v.unscored_reason, v.ci_low, v.ci_high,
        v.n_scored, v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND v.slice_kind IN ('benchmark', 'benchmark_mode')
), wide AS (
    SELECT config_hash, profile, model, is_null, benchmark,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_em,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_em,
        any_value(value) FILTER (metric = 'thin_thick_difference') AS difference,
        any_value(ci_low) FILTER (metric = 'thin_thick_difference') AS ci_low,
        any_value(ci_high) FILTER (metric = 'thin_thick_difference') AS ci_high,
        any_value(value) FILTER (metric = 'thin_thick_p') AS p,
        any_value(value) FILTER (metric = 'f1_macro' AND mode = 'thick')
            - any_value(value) FILTER (metric = 'f1_macro' AND mode = 'thin') AS f1_macro_difference,
        any_value(value) FILTER (metric = 'exact_match_iqr' AND mode = 'thin') AS thin_iqr,
        any_value(value) FILTER (metric = 'exact_match_iqr' AND mode = 'thick') AS thick_iqr,
        any_value(value) FILTER (metric = 'exact_match_variance' AND mode = 'thin') AS thin_variance,
        any_value(value) FILTER (metric = 'exact_match_variance' AND mode = 'thick') AS thick_variance,
        any_value(n_scored) FILTER (metric = 'exact_match_iqr') AS n_countries,
        any_value(n_scored) FILTER (metric = 'thin_thick_difference') AS n_scored,
        any_value(n_unscored) FILTER (metric = 'thin_thick_difference') AS n_unscored,
        any_value(unscored_reason) FILTER (metric = 'thin_thick_difference') AS unscored_reason,
        run_id, finished_at
    FROM part
    GROUP BY ALL
    HAVING count(*) FILTER (metric = 'thin_thick_difference') > 0
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], benchmark), benchmark, is_null, model
    ) AS place,
    * EXCLUDE (config_hash)
FROM wide;

COMMENT ON VIEW cure_thin_vs_thick IS 'Comparison of labels generated alone with labels generated with an explanation, by benchmark and model, where both modes were run.';
COMMENT ON COLUMN cure_thin_vs_thick.place IS 'Order in the configuration, from 1: by benchmark; within each, models, then null models.';
COMMENT ON COLUMN cure_thin_vs_thick.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_em IS 'Exact match of labels generated alone; a lost label is wrong.';
COMMENT ON COLUMN cure_thin_vs_thick.thick_em IS 'Exact match of labels generated with an explanation; a lost label is wrong.';
COMMENT ON COLUMN cure_thin_vs_thick.difference IS 'Thick minus thin exact match on the items sent in both modes. Above 0: the model is right more often when it explains. NULL if unscored.';
COMMENT ON COLUMN cure_thin_vs_thick.ci_low IS 'Lower end of the 95 % interval of difference, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN cure_thin_vs_thick.ci_high IS 'Upper end of the 95 % interval of difference, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN cure_thin_vs_thick.p IS 'McNemar''s exact test of difference, two-sided, not adjusted for the number of tests.';
COMMENT ON COLUMN cure_thin_vs_thick.f1_macro_difference IS 'Thick minus thin macro F1.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_iqr IS 'Interquartile range of thin exact match over countries.';
COMMENT ON COLUMN cure_thin_vs_thick.thick_iqr IS 'Interquartile range of thick exact match over countries.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_variance IS 'Variance of thin exact match over countries (ddof 1).';
COMMENT ON COLUMN cure_thin_vs_thick.thick_variance IS 'Variance of thick exact match over countries (ddof 1).';
COMMENT ON COLUMN cure_thin_vs_thick.n_countries IS 'Number of countries from which the interquartile ranges and variances are computed.';
COMMENT ON COLUMN cure_thin_vs_thick.n_scored IS 'Number of items sent in both modes.';
COMMENT ON COLUMN cure_thin_vs_thick.n_unscored IS 'Number of items sent in only one mode.';
COMMENT ON COLUMN cure_thin_vs_thick.unscored_reason IS 'Why there is no difference; NULL if there is one.';
