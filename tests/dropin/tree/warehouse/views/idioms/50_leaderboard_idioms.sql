CREATE OR REPLACE VIEW leaderboard_idioms AS
SELECT r.model, r.is_null, r.profile, r.config_hash, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value,
    v.n_scored, v.n_unscored, r.run_id, r.finished_at,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place
FROM latest_run AS r
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = 'accuracy' AND v.slice_kind = 'overall'
WHERE r.evaluation = 'idioms';

COMMENT ON VIEW leaderboard_idioms IS 'How many sayings each model gives the meaning of.';
COMMENT ON COLUMN leaderboard_idioms.model IS 'Model.';
COMMENT ON COLUMN leaderboard_idioms.is_null IS 'Whether it is a null model, not a model.';
COMMENT ON COLUMN leaderboard_idioms.profile IS 'Run profile.';
COMMENT ON COLUMN leaderboard_idioms.config_hash IS 'Configuration: only equal ones may be compared.';
COMMENT ON COLUMN leaderboard_idioms.accuracy IS 'Share of sayings, by the judge; NULL if unscored.';
COMMENT ON COLUMN leaderboard_idioms.ci_low IS 'Lower end of the 95 % interval over sayings.';
COMMENT ON COLUMN leaderboard_idioms.ci_high IS 'Upper end of the 95 % interval over sayings.';
COMMENT ON COLUMN leaderboard_idioms.null_value IS 'What a coin scores.';
COMMENT ON COLUMN leaderboard_idioms.n_scored IS 'Sayings with a verdict.';
COMMENT ON COLUMN leaderboard_idioms.n_unscored IS 'Sayings without one.';
COMMENT ON COLUMN leaderboard_idioms.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN leaderboard_idioms.finished_at IS 'When the run ended (UTC).';
COMMENT ON COLUMN leaderboard_idioms.place IS 'Order of the leaderboard within its configuration, from 1.';
