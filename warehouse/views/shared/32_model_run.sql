CREATE OR REPLACE VIEW model_run AS
SELECT r.evaluation, r.config_hash, r.model_hash, r.model, r.run_id, r.engine_hash, run.engine->>'kind' AS kind,
    CASE WHEN (run.engine->>'server') IS NULL AND (run.engine->>'kind') NOT IN ('fake', 'published') THEN run.engine->>'dtype' END AS dtype,
    run.engine->>'model' AS model_id, r.n_engines, r.finished_at
FROM latest_run AS r
JOIN run USING (run_id)
WHERE NOT r.is_null;

COMMENT ON VIEW model_run IS 'One run for each model under each configuration: the runs of latest_run, with the engine in words.';
COMMENT ON COLUMN model_run.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN model_run.model_hash IS 'Model: run.model_hash.';
COMMENT ON COLUMN model_run.model IS 'Name of the model in that run.';
COMMENT ON COLUMN model_run.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN model_run.kind IS 'Kind of the engine, such as vllm.';
COMMENT ON COLUMN model_run.dtype IS 'Precision of the engine; NULL if a server chooses it, or if no model runs.';
COMMENT ON COLUMN model_run.model_id IS 'Hugging Face id or path of the model.';
COMMENT ON COLUMN model_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history has those without a row here.';
