-- Views that join evaluations read their runs here: a model's runs under two configurations are two numbers, and a
-- small run would otherwise stand among large ones.
CREATE OR REPLACE VIEW shown_run AS
FROM model_run
SEMI JOIN (
    SELECT evaluation, configuration AS config_hash FROM report_configuration WHERE n_models > 0 AND place = 1
) AS shown USING (evaluation, config_hash);

COMMENT ON VIEW shown_run IS 'One run for each model and evaluation: the runs of model_run under the configuration that pages show (report_configuration.place).';
COMMENT ON COLUMN shown_run.config_hash IS 'Configuration: run.config_hash; the same for all models of an evaluation.';
COMMENT ON COLUMN shown_run.model_hash IS 'Model: run.model_hash.';
COMMENT ON COLUMN shown_run.model IS 'Name of the model in that run.';
COMMENT ON COLUMN shown_run.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN shown_run.kind IS 'Kind of the engine, such as vllm.';
COMMENT ON COLUMN shown_run.dtype IS 'Precision of the engine; NULL if a server chooses it, or if no model runs.';
COMMENT ON COLUMN shown_run.model_id IS 'Hugging Face id or path of the model.';
COMMENT ON COLUMN shown_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history has those without a row here.';
