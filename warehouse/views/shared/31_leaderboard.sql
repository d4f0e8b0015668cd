CREATE OR REPLACE VIEW leaderboard AS
SELECT r.model, v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, r.evaluation,
    r.is_null, r.profile, r.config_hash, r.run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE v.slice_kind = 'overall';

COMMENT ON VIEW leaderboard IS 'The overall numbers of all evaluations, one row each: newest finished run of each model and configuration. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN leaderboard.metric IS 'Metric: metric.metric of the evaluation.';
COMMENT ON COLUMN leaderboard.value IS 'The number; NULL if unscored (metric_value.unscored_reason).';
COMMENT ON COLUMN leaderboard.ci_low IS 'Lower end of the 95 % interval; NULL if there are too few units for its coverage to hold (docs/intervals.md).';
COMMENT ON COLUMN leaderboard.ci_high IS 'Upper end of the 95 % interval; NULL if ci_low is NULL.';
COMMENT ON COLUMN leaderboard.null_value IS 'Value of a null model for the same metric and slice.';
COMMENT ON COLUMN leaderboard.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN leaderboard.n_unscored IS 'Number of points that could not be scored.';
