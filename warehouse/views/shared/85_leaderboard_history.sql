CREATE OR REPLACE VIEW leaderboard_history AS
SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, r.is_null, r.occasion, r.run_id, r.finished_at, v.metric,
    m.label || CASE v.slice_kind WHEN 'overall' THEN '' ELSE ', ' || v.slice END AS label,
    v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored
FROM (
    FROM run
    WHERE status = 'finished'
    QUALIFY row_number() OVER (
        PARTITION BY evaluation, config_hash, model, engine_hash, occasion ORDER BY finished_at DESC, run_id
    ) = 1
) AS r
JOIN metric_value AS v USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric AND m.is_headline
WHERE v.slice_kind IN ('overall', 'condition', 'benchmark', 'benchmark_mode');

COMMENT ON VIEW leaderboard_history IS 'The headline numbers of every occasion, long. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_history.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN leaderboard_history.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN leaderboard_history.model IS 'Model.';
COMMENT ON COLUMN leaderboard_history.engine_hash IS 'What determines its answers: run.engine_hash.';
COMMENT ON COLUMN leaderboard_history.is_null IS 'Whether it is a null model that knows nothing.';
COMMENT ON COLUMN leaderboard_history.occasion IS 'Name of the re-evaluation; empty: none.';
COMMENT ON COLUMN leaderboard_history.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN leaderboard_history.finished_at IS 'When the run ended (UTC).';
COMMENT ON COLUMN leaderboard_history.metric IS 'Metric: metric.metric of the evaluation.';
COMMENT ON COLUMN leaderboard_history.label IS 'Its name to show, with the slice where it is none over all.';
COMMENT ON COLUMN leaderboard_history.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN leaderboard_history.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.null_value IS 'What a model that knows nothing scores.';
COMMENT ON COLUMN leaderboard_history.n_scored IS 'Points that the value rests on.';
COMMENT ON COLUMN leaderboard_history.n_unscored IS 'Points that could not be scored.';
