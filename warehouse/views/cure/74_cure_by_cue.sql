CREATE OR REPLACE VIEW cure_by_cue AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        if(ends_with(v.slice_kind, '_cue'), 'cue', 'specificity') AS broken_down_by,
        CASE WHEN starts_with(v.slice_kind, 'benchmark_mode_') THEN split_part(v.slice, ':', 2) END AS mode,
        split_part(v.slice, ':', -1) AS value_of, v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored,
        v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure'
        AND v.slice_kind IN ('benchmark_cue', 'benchmark_specificity', 'benchmark_mode_cue', 'benchmark_mode_specificity')
)
SELECT config_hash, profile, model, is_null, benchmark, broken_down_by, value_of,
    any_value(value) FILTER (mode = 'thin') AS thin_em,
    any_value(value) FILTER (mode = 'thick') AS thick_em,
    max(null_value) FILTER (mode IS NOT NULL) AS majority_em,
    any_value(metric) FILTER (mode IS NULL) AS metric,
    any_value(value) FILTER (mode IS NULL) AS value,
    any_value(ci_low) FILTER (mode IS NULL) AS ci_low,
    any_value(ci_high) FILTER (mode IS NULL) AS ci_high,
    any_value(null_value) FILTER (mode IS NULL) AS null_value,
    max(n_scored + n_unscored) AS n_items,
    any_value(n_scored) FILTER (mode IS NULL) AS n_judged,
    run_id, finished_at
FROM part
GROUP BY ALL;

COMMENT ON VIEW cure_by_cue IS 'SpecNorm by the cues of its items, and by specificity, which is the number of cues (Vo and Koyejo 2025, table 2). An item counts under each of its cues.';
COMMENT ON COLUMN cure_by_cue.benchmark IS 'specnorm, or a pack''s benchmark of the same form.';
COMMENT ON COLUMN cure_by_cue.broken_down_by IS 'cue or specificity.';
COMMENT ON COLUMN cure_by_cue.value_of IS 'Cue: region, ethnicity, religion, age, gender, occupation, marital_status. Specificity: low (one cue), medium (two or three), high (four or more).';
COMMENT ON COLUMN cure_by_cue.thin_em IS 'Exact match of labels generated alone, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_cue.thick_em IS 'Exact match of labels generated with an explanation, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_cue.majority_em IS 'Exact match of the benchmark''s commonest label on the same items, the higher of thin and thick.';
COMMENT ON COLUMN cure_by_cue.metric IS 'Criterion for explanations: specificity; NULL without explanations.';
COMMENT ON COLUMN cure_by_cue.value IS 'Mean of that metric; NULL if unscored.';
COMMENT ON COLUMN cure_by_cue.ci_low IS 'Lower end of the 95 % interval of value, over pairs of items, else their countries.';
COMMENT ON COLUMN cure_by_cue.ci_high IS 'Upper end of the 95 % interval of value, over pairs of items, else their countries.';
COMMENT ON COLUMN cure_by_cue.null_value IS 'Score of the best of three null explanations, over the same items whose null explanations are judged; for a slice without any, over the benchmark''s items.';
COMMENT ON COLUMN cure_by_cue.n_items IS 'Number of items sent to the model.';
COMMENT ON COLUMN cure_by_cue.n_judged IS 'Number of scored explanations: a lost one scores 0.';
