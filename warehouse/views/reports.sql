-- Two kinds of slices name another model of the configuration.
CREATE OR REPLACE VIEW report_value AS
SELECT r.evaluation, r.config_hash,
    row_number() OVER (
        PARTITION BY r.evaluation, r.config_hash ORDER BY r.is_null, v.model, v.metric, v.slice_kind, v.slice
    ) AS place,
    v.model, r.is_null, v.metric, v.slice_kind,
    coalesce(if(v.slice_kind = 'choice', 'without ', '') || other.model, v.slice) AS slice, v.value, v.unscored_reason,
    v.n_scored, v.n_unscored, v.ci_low, v.ci_high, v.null_value
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN (SELECT config_hash, saved, min(model) AS model FROM renamed_run GROUP BY ALL) AS other
    ON other.config_hash = r.config_hash AND other.saved = CASE
        WHEN v.slice_kind = 'model_pair' THEN v.slice
        WHEN v.slice_kind = 'choice' AND starts_with(v.slice, 'without ') THEN v.slice[9:]
    END;

COMMENT ON VIEW report_value IS 'Every number of every evaluation, as report pages show it: newest finished run of each model and configuration.';
COMMENT ON COLUMN report_value.config_hash IS 'Configuration: run.config_hash. Only numbers with the same config_hash may be compared.';
COMMENT ON COLUMN report_value.place IS 'Order in the configuration, from 1: models before null models, then by name.';
COMMENT ON COLUMN report_value.metric IS 'Metric: metric.metric.';
COMMENT ON COLUMN report_value.slice_kind IS 'Kind of slice: overall, domain, question, country and so on.';
COMMENT ON COLUMN report_value.slice IS 'Name of the slice; "all" for overall.';
COMMENT ON COLUMN report_value.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN report_value.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN report_value.n_scored IS 'Number of points from which the number is computed.';
COMMENT ON COLUMN report_value.n_unscored IS 'Number of points that could not be used.';
COMMENT ON COLUMN report_value.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_value.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_value.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';

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

CREATE OR REPLACE VIEW report_cohort AS
SELECT r.evaluation, c.config_hash, c.cohort,
    row_number() OVER (PARTITION BY c.config_hash, c.cohort ORDER BY r.model, c.run_id) AS place,
    r.model, c.run_id, c.frozen_at
FROM cohort AS c
JOIN run AS r USING (run_id)
WHERE NOT r.is_null;

COMMENT ON VIEW report_cohort IS 'The models of each frozen cohort, over which numbers that compare models are computed. A configuration has one cohort.';
COMMENT ON COLUMN report_cohort.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_cohort.cohort IS 'Name of the cohort; first: the models of the first finished run.';
COMMENT ON COLUMN report_cohort.place IS 'Order in the cohort, from 1: by name.';
COMMENT ON COLUMN report_cohort.frozen_at IS 'When the cohort was frozen (UTC).';

-- Slices such as domain/country are grouped by their first part; metrics and slices of one reason share a row.
CREATE OR REPLACE VIEW report_unscored AS
WITH lost AS (
    SELECT r.evaluation, r.config_hash, v.model, v.metric, v.slice_kind, split_part(v.slice, '/', 1) AS slice,
        v.unscored_reason, sum(v.n_unscored)::BIGINT AS n_unscored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE NOT r.is_null AND v.value IS NULL
    GROUP BY ALL
), of_slice AS (
    SELECT evaluation, config_hash, model, string_agg(metric, ', ' ORDER BY metric) AS metric, slice_kind, slice,
        unscored_reason, max(n_unscored) AS n_unscored
    FROM lost
    GROUP BY ALL
), of_reason AS (
    SELECT evaluation, config_hash, model, metric, slice_kind, string_agg(slice, ', ' ORDER BY slice) AS slice,
        unscored_reason, sum(n_unscored)::BIGINT AS n_unscored
    FROM of_slice
    GROUP BY ALL
)
SELECT evaluation, config_hash,
    row_number() OVER (
        PARTITION BY evaluation, config_hash ORDER BY model, slice_kind, metric, unscored_reason
    ) AS place,
    model, metric, slice_kind, slice, unscored_reason, n_unscored
FROM of_reason;

COMMENT ON VIEW report_unscored IS 'Unscored points with their reason: one row per model and reason, without null models.';
COMMENT ON COLUMN report_unscored.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_unscored.place IS 'Order in the configuration, from 1: by model and kind of slice.';
COMMENT ON COLUMN report_unscored.metric IS 'The metrics that have no value for this reason, separated by commas.';
COMMENT ON COLUMN report_unscored.slice_kind IS 'Kind of slices: overall, domain, question, country and so on.';
COMMENT ON COLUMN report_unscored.slice IS 'Slices, separated by commas.';
COMMENT ON COLUMN report_unscored.unscored_reason IS 'Why there is no value.';
COMMENT ON COLUMN report_unscored.n_unscored IS 'Number of lost points: the largest over the metrics, summed over the slices.';

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
COMMENT ON COLUMN shown_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history has those without a row here.';

CREATE OR REPLACE VIEW report_against_null AS
SELECT a.evaluation, a.config_hash, row_number() OVER (
    PARTITION BY a.evaluation, a.config_hash ORDER BY a.model, a.metric
) AS place, a.model, a.metric, a.is_beyond_null, a.doubt
FROM against_null AS a
JOIN latest_run AS r USING (run_id);

COMMENT ON VIEW report_against_null IS 'Headlines and nulls that reports show: the newest run of each model and configuration.';
COMMENT ON COLUMN report_against_null.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_against_null.place IS 'Order within the configuration, from 1.';
COMMENT ON COLUMN report_against_null.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN report_against_null.is_beyond_null IS 'Value of against_null.is_beyond_null.';
COMMENT ON COLUMN report_against_null.doubt IS 'Reason not to trust the headline; NULL if there is none.';

CREATE OR REPLACE VIEW report_doubt AS
SELECT r.evaluation, r.config_hash, row_number() OVER (
    PARTITION BY r.evaluation, r.config_hash ORDER BY r.model, d.metric, d.reason
) AS place, r.model, d.metric, d.reason
FROM latest_run AS r
JOIN doubt AS d USING (run_id);

COMMENT ON VIEW report_doubt IS 'Doubts that reports show: the newest run of each model and configuration.';
COMMENT ON COLUMN report_doubt.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_doubt.place IS 'Order within the configuration, from 1.';
COMMENT ON COLUMN report_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW report_metric AS
SELECT evaluation, row_number() OVER (PARTITION BY evaluation ORDER BY rowid) AS place, metric, label, unit, range_low,
    range_high, direction, description, null_baseline, unscored_when, source
FROM metric;

COMMENT ON VIEW report_metric IS 'The table metric, in the order of its file.';
COMMENT ON COLUMN report_metric.place IS 'Order in the evaluation, from 1.';
COMMENT ON COLUMN report_metric.metric IS 'Metric: metric.metric.';
COMMENT ON COLUMN report_metric.label IS 'Name to show.';
COMMENT ON COLUMN report_metric.unit IS 'Unit.';
COMMENT ON COLUMN report_metric.range_low IS 'Least possible value; NULL if there is none.';
COMMENT ON COLUMN report_metric.range_high IS 'Greatest possible value; NULL if there is none.';
COMMENT ON COLUMN report_metric.direction IS 'Direction that is better: higher, lower or none.';
COMMENT ON COLUMN report_metric.description IS 'Meaning.';
COMMENT ON COLUMN report_metric.null_baseline IS 'Score of a null model.';
COMMENT ON COLUMN report_metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN report_metric.source IS 'Source of its definition.';

CREATE OR REPLACE VIEW report_source AS
SELECT row_number() OVER (ORDER BY file) AS place, file, source, version, licence, retrieved, build, notes
FROM source;

COMMENT ON VIEW report_source IS 'Sources and licences of reference data: the table source, by file.';
COMMENT ON COLUMN report_source.place IS 'Order, from 1.';
COMMENT ON COLUMN report_source.file IS 'Reference file.';
COMMENT ON COLUMN report_source.source IS 'Source of the data.';
COMMENT ON COLUMN report_source.version IS 'Version of the source.';
COMMENT ON COLUMN report_source.licence IS 'Licence of the source.';
COMMENT ON COLUMN report_source.retrieved IS 'Date when it was retrieved.';
COMMENT ON COLUMN report_source.build IS 'Way the file was built.';
COMMENT ON COLUMN report_source.notes IS 'Further notes.';

CREATE OR REPLACE VIEW report_country AS
SELECT row_number() OVER (ORDER BY country) AS place, country, regexp_replace(name, '^the ', '') AS name, region
FROM country;

COMMENT ON VIEW report_country IS 'Names of countries as tables and figures have them.';
COMMENT ON COLUMN report_country.place IS 'Order, from 1: by code.';
COMMENT ON COLUMN report_country.country IS 'Country: country.country.';
COMMENT ON COLUMN report_country.name IS 'Name of the country, without "the".';
COMMENT ON COLUMN report_country.region IS 'UN region of the country.';

CREATE OR REPLACE VIEW report_judge AS
WITH judged AS (
    SELECT r.evaluation, r.config_hash, v.judge, v.judge_hash, v.rubric, count(*) AS n_verdicts,
        count(*) FILTER (v.verdict IS NULL) AS n_unscored, count(v.graded) AS n_graded
    FROM verdict AS v
    JOIN latest_run AS r USING (run_id)
    GROUP BY ALL
)
SELECT evaluation, config_hash,
    row_number() OVER (PARTITION BY evaluation, config_hash ORDER BY judge, judge_hash, rubric) AS place,
    judge, judge_hash, rubric, split_part(rubric, ' ', 1) AS metric, n_verdicts, n_unscored, n_graded
FROM judged;

COMMENT ON VIEW report_judge IS 'Judges and rubrics of a configuration, in the newest finished run of each model.';
COMMENT ON COLUMN report_judge.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_judge.place IS 'Order in the configuration, from 1: by judge, its engine and rubric.';
COMMENT ON COLUMN report_judge.judge IS 'Model that judged.';
COMMENT ON COLUMN report_judge.judge_hash IS 'Hash of the judge''s engine: two engines of one name are two judges.';
COMMENT ON COLUMN report_judge.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN report_judge.metric IS 'Subject of the rubric: its name without the hash.';
COMMENT ON COLUMN report_judge.n_verdicts IS 'Number of verdicts, including those on null models'' answers.';
COMMENT ON COLUMN report_judge.n_unscored IS 'Number of verdicts that could not be read.';
COMMENT ON COLUMN report_judge.n_graded IS 'Number of verdicts with a grade from the judge''s probabilities.';

CREATE OR REPLACE VIEW report_validation AS
SELECT j.evaluation, j.config_hash,
    row_number() OVER (
        PARTITION BY j.evaluation, j.config_hash ORDER BY j.judge, judge_hash, rubric, v.created_at, v.metric
    ) AS place,
    j.judge, judge_hash, rubric, v.metric, v.value, v.unscored_reason, v.n AS n_scored, 0 AS n_unscored, v.ci_low, v.ci_high,
    NULL::DOUBLE AS null_value, v.created_at, v.source
FROM report_judge AS j
JOIN judge_validation AS v USING (judge_hash, rubric);

COMMENT ON VIEW report_validation IS 'Agreement of a configuration''s judges with people, from judge_validation; the columns of a number are named as in report_value.';
COMMENT ON COLUMN report_validation.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_validation.place IS 'Order in the configuration, from 1: by judge, its engine, rubric and time.';
COMMENT ON COLUMN report_validation.judge IS 'Model that judged.';
COMMENT ON COLUMN report_validation.judge_hash IS 'Hash of the judge''s engine, on which rows are joined; the judge''s name may have differed when it was compared with people.';
COMMENT ON COLUMN report_validation.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN report_validation.metric IS 'Agreement with people, or of people with each other: judge_validation.metric.';
COMMENT ON COLUMN report_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN report_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN report_validation.n_scored IS 'Number of items from which the number is computed.';
COMMENT ON COLUMN report_validation.n_unscored IS 'Always 0: items that nobody rated are not counted.';
COMMENT ON COLUMN report_validation.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_validation.null_value IS 'Always NULL: agreement has no null model.';
COMMENT ON COLUMN report_validation.created_at IS 'When the judge was compared with people (UTC).';
COMMENT ON COLUMN report_validation.source IS 'File of the ratings.';
