CREATE OR REPLACE VIEW report_run AS
SELECT evaluation, config_hash,
    row_number() OVER (PARTITION BY evaluation, config_hash ORDER BY is_null, model) AS place,
    run_id, model, is_null, profile, code_version, engine::VARCHAR AS engine, params::VARCHAR AS params, boundary_rule,
    started_at, finished_at, occasion
FROM run
SEMI JOIN latest_run USING (run_id);

COMMENT ON VIEW report_run IS 'The newest finished run of each model and configuration, with its engine and parameters.';
COMMENT ON COLUMN report_run.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_run.place IS 'Order in the configuration, from 1: models by name, then null models.';
COMMENT ON COLUMN report_run.code_version IS 'Version of Culturemeter.';
COMMENT ON COLUMN report_run.engine IS 'Settings of the model''s engine, as JSON text.';
COMMENT ON COLUMN report_run.params IS 'Parameters of the run, as JSON text.';
COMMENT ON COLUMN report_run.boundary_rule IS 'Which tokens of a prompt and its continuation are scored.';
COMMENT ON COLUMN report_run.started_at IS 'When the run began (UTC).';
COMMENT ON COLUMN report_run.occasion IS 'Occasion: run.occasion.';

CREATE OR REPLACE VIEW report_configuration AS
WITH newest AS (
    SELECT evaluation, config_hash AS configuration, string_agg(DISTINCT profile, ', ' ORDER BY profile) AS profile,
        count(*) FILTER (NOT is_null) AS n_models, coalesce(sum(n_answers) FILTER (NOT is_null), 0)::BIGINT AS n_answers,
        max(finished_at) AS finished_at
    FROM latest_run
    GROUP BY evaluation, config_hash
), packed AS (
    SELECT DISTINCT evaluation, config_hash AS configuration, true AS has_pack FROM run_pack
)
SELECT evaluation,
    row_number() OVER (
        PARTITION BY evaluation ORDER BY n_models = 0, coalesce(has_pack, false), n_answers DESC, finished_at DESC, configuration
    ) AS place,
    configuration, profile, n_models, n_answers, coalesce(has_pack, false) AS has_pack, finished_at
FROM newest
LEFT JOIN packed USING (evaluation, configuration);

COMMENT ON VIEW report_configuration IS 'Configurations of every evaluation with finished runs; pages show one of them.';
COMMENT ON COLUMN report_configuration.place IS 'Order in the evaluation, from 1, the one that is shown by default: shipped content before packs, then the most answers, then the newest.';
COMMENT ON COLUMN report_configuration.configuration IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_configuration.profile IS 'Run profiles that set its parameters.';
COMMENT ON COLUMN report_configuration.n_models IS 'Number of models with a finished run, without null models.';
COMMENT ON COLUMN report_configuration.n_answers IS 'Number of answers of these models: run.n_answers.';
COMMENT ON COLUMN report_configuration.has_pack IS 'Whether it has content of a pack, so that it ranks behind shipped content.';
COMMENT ON COLUMN report_configuration.finished_at IS 'When the last of these runs ended (UTC).';
