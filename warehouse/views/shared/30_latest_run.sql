-- A program that sets the variable `occasion` sees that occasion in every view; others see each engine's newest.
-- The same weights in two engines are one model with one row: the engine in float32 comes first, because it
-- rounds least, then the one that finished last.
CREATE OR REPLACE VIEW latest_run AS
WITH newest AS (
    SELECT evaluation, config_hash, profile, model, is_null, run_id, finished_at, model_hash, engine_hash, n_answers,
        engine->>'dtype' AS dtype, if(is_null, concat_ws(' ', model, engine_hash), model_hash) AS one
    FROM run
    WHERE status = 'finished' AND coalesce(occasion, '') = coalesce(getvariable('occasion'), occasion, '')
    QUALIFY row_number() OVER (
        PARTITION BY evaluation, config_hash, one, engine_hash ORDER BY finished_at DESC, run_id
    ) = 1
)
SELECT evaluation, config_hash, profile, model, is_null, run_id, finished_at, model_hash, engine_hash, n_answers,
    count(*) OVER (PARTITION BY evaluation, config_hash, is_null, one) AS n_engines
FROM newest
QUALIFY row_number() OVER (
    PARTITION BY evaluation, config_hash, is_null, one
    ORDER BY dtype IS NOT DISTINCT FROM 'float32' DESC, finished_at DESC, run_id
) = 1;

COMMENT ON VIEW latest_run IS 'The newest finished run of each model under each configuration, which leaderboards show. Several engines with the same weights share one row.';
COMMENT ON COLUMN latest_run.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN latest_run.model_hash IS 'Model: run.model_hash.';
COMMENT ON COLUMN latest_run.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN latest_run.n_answers IS 'Number of answers of the run: run.n_answers.';
COMMENT ON COLUMN latest_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history and the table run have those without a row here.';
