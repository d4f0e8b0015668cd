-- A program that sets the variable occasion sees that one in every view; others see the newest of each engine.
CREATE OR REPLACE VIEW latest_run AS
SELECT evaluation, config_hash, profile, model, is_null, run_id, finished_at
FROM run
WHERE status = 'finished' AND coalesce(occasion, '') = coalesce(getvariable('occasion'), occasion, '')
QUALIFY row_number() OVER (PARTITION BY evaluation, config_hash, model, engine_hash ORDER BY finished_at DESC, run_id) = 1;

COMMENT ON VIEW latest_run IS 'The newest finished run of each engine under each configuration: what leaderboards show.';
COMMENT ON COLUMN latest_run.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN latest_run.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN latest_run.profile IS 'Run profile that set the parameters.';
COMMENT ON COLUMN latest_run.model IS 'Model.';
COMMENT ON COLUMN latest_run.is_null IS 'Whether it is a null model.';
COMMENT ON COLUMN latest_run.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN latest_run.finished_at IS 'When the run ended (UTC).';
