-- A model's first engine under a configuration has its name alone; further ones add the beginning of their hash, as
-- runs do. The name of a null model that is made from a model, null:shuffled(NAME), follows that model's.
CREATE OR REPLACE VIEW renamed_run AS
WITH renamed AS (
    SELECT b.run_id, b.config_hash, b.model AS saved, n.name || if(b.engine_hash = first_value(b.engine_hash) OVER (
        PARTITION BY b.config_hash, b.model_hash ORDER BY b.started_at, b.run_id
    ), '', '#' || b.engine_hash[:4]) AS model
    FROM run_base AS b
    JOIN model_name AS n USING (model_hash)
    WHERE NOT b.is_null
)
SELECT run_id, config_hash, saved, model FROM renamed
UNION ALL
SELECT b.run_id, b.config_hash, b.model, any_value(b.model[:position('(' IN b.model)] || r.model || ')')
FROM (FROM run_base WHERE is_null) AS b
JOIN renamed AS r ON r.config_hash = b.config_hash AND b.model[position('(' IN b.model):] = '(' || r.saved || ')'
GROUP BY b.run_id, b.config_hash, b.model;

COMMENT ON VIEW renamed_run IS 'Runs whose model is shown under another name than they were saved with (model_name).';
COMMENT ON COLUMN renamed_run.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN renamed_run.saved IS 'Name that the run was saved with: run_base.model.';
COMMENT ON COLUMN renamed_run.model IS 'Name to show.';

CREATE OR REPLACE VIEW run AS
SELECT b.run_id, b.evaluation, coalesce(n.model, b.model) AS model, b.is_null, b.profile, b.config_hash, b.engine_hash,
    b.params, b.engine, b.item_lists, b.boundary_rule, b.code_version, b.started_at, b.finished_at, b.status, b.occasion,
    b.model_hash, b.n_answers
FROM run_base AS b
LEFT JOIN renamed_run AS n USING (run_id);

COMMENT ON VIEW run IS 'One evaluation of one model under one configuration by one version of the code.';
COMMENT ON COLUMN run.run_id IS 'Hash of configuration, engine, boundary rule and code version, and of cohort, packs and occasion if there are any.';
COMMENT ON COLUMN run.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN run.model IS 'Model, as leaderboards show it.';
COMMENT ON COLUMN run.is_null IS 'Whether the run is of a null model.';
COMMENT ON COLUMN run.profile IS 'Run profile that set the parameters, and packs if there are any: smoke + pack NAME.';
COMMENT ON COLUMN run.config_hash IS 'Hash of everything that must be equal if two models are to be compared.';
COMMENT ON COLUMN run.engine_hash IS 'Hash of everything that determines the answers of an engine: kind, model, revision, prompt style, precision, options; for a server its address, reasoning and web search. Device, batch size and price are left out.';
COMMENT ON COLUMN run.params IS 'Parameters of the evaluation.';
COMMENT ON COLUMN run.engine IS 'Engine spec: kind, model, revision, dtype and so on; for a model server, its host, port and path, or the name that replaces them.';
COMMENT ON COLUMN run.item_lists IS 'Name to list_hash of the item lists used.';
COMMENT ON COLUMN run.boundary_rule IS 'Rule by which prefix and continuation were tokenised.';
COMMENT ON COLUMN run.code_version IS 'Version of the code.';
COMMENT ON COLUMN run.started_at IS 'When the run last began to work (UTC).';
COMMENT ON COLUMN run.finished_at IS 'When the run ended: finished, failed or cancelled (UTC); NULL if it is running or was killed.';
COMMENT ON COLUMN run.status IS 'running, finished, failed or cancelled. Leaderboards show finished runs only.';
COMMENT ON COLUMN run.occasion IS 'Name of the occasion, such as 2026-w48; empty for a run that uses earlier answers.';
COMMENT ON COLUMN run.model_hash IS 'Hash of weights with their adapter, revision and prompt style; for a server, of its address, the model''s name, reasoning and web search. It leaves out engine, precision and options, so that evaluations are joined on it. null for null models.';
COMMENT ON COLUMN run.n_answers IS 'Number of answers stored for the run when it ended, whichever run requested them first. By default pages show the configuration with the most.';
