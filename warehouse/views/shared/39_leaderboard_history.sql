CREATE OR REPLACE VIEW leaderboard_history AS
WITH newest AS (
    SELECT evaluation, config_hash, model, engine_hash, is_null, coalesce(occasion, '') AS occasion, run_id, finished_at
    FROM run
    WHERE status = 'finished'
    QUALIFY row_number() OVER (
        PARTITION BY evaluation, config_hash, model, engine_hash, coalesce(occasion, '') ORDER BY finished_at DESC, run_id
    ) = 1
)
SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, r.is_null, r.occasion, r.run_id, r.finished_at, m.metric,
    m.label, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, a.is_beyond_null, a.doubt
FROM newest AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric
LEFT JOIN against_null AS a ON a.run_id = r.run_id AND a.metric = m.metric
WHERE v.slice_kind = 'overall';

COMMENT ON VIEW leaderboard_history IS 'The headlines of all evaluations on every occasion: newest finished run of each engine, configuration and occasion. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_history.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN leaderboard_history.engine_hash IS 'Engine: run.engine_hash.';
COMMENT ON COLUMN leaderboard_history.occasion IS 'Name of the occasion; empty for runs that used earlier answers.';
COMMENT ON COLUMN leaderboard_history.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN leaderboard_history.label IS 'Name of the headline for display.';
COMMENT ON COLUMN leaderboard_history.value IS 'The number; NULL if unscored (metric_value.unscored_reason).';
COMMENT ON COLUMN leaderboard_history.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.is_beyond_null IS 'Value of against_null.is_beyond_null; NULL for null models.';
COMMENT ON COLUMN leaderboard_history.doubt IS 'Reason not to trust the headline (doubt.reason); NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN leaderboard_history.n_unscored IS 'Number of points that could not be scored.';
