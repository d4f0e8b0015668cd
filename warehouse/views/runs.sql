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

-- A run's rows are in one of the two: save_metrics and archive.py move them in one transaction.
CREATE OR REPLACE VIEW metric_value AS
SELECT v.* REPLACE (coalesce(n.model, v.model) AS model)
FROM metric_value_base AS v
LEFT JOIN renamed_run AS n USING (run_id)
UNION ALL
SELECT run_id, model, metric, slice_kind, slice, value, unscored_reason, n_scored, n_unscored, ci_low, ci_high, null_value
FROM metric_row;

COMMENT ON VIEW metric_value IS 'Numbers of all runs, one row each. An unscored number is NULL with a reason, never NaN and never 0.';
COMMENT ON COLUMN metric_value.model IS 'Model: run.model.';
COMMENT ON COLUMN metric_value.metric IS 'Metric: metric.metric of the run''s evaluation.';
COMMENT ON COLUMN metric_value.slice_kind IS 'overall, domain, question, country and so on.';
COMMENT ON COLUMN metric_value.slice IS 'Name of the domain, question or country; "all" for overall.';
COMMENT ON COLUMN metric_value.value IS 'The number, infinite where its definition says so; NULL if unscored.';
COMMENT ON COLUMN metric_value.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN metric_value.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN metric_value.n_unscored IS 'Number of points that belong to the value but could not be scored.';
COMMENT ON COLUMN metric_value.ci_low IS 'Lower end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value.ci_high IS 'Upper end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value.null_value IS 'Value of a null model for the same metric and slice (metric.null_baseline); NULL if there is none.';

-- The smallest Spearman's rho that at most 2.5 % of random orders of n models without ties reach: exact below ten,
-- at most 0.005 too high above. NULL below five models, where even the same order is more frequent than that.
CREATE OR REPLACE MACRO least_rho(n) AS CASE n WHEN 5 THEN 1.0 WHEN 6 THEN 31 / 35 WHEN 7 THEN 11 / 14 WHEN 8 THEN 31 / 42
    WHEN 9 THEN 0.7 ELSE if(n < 5, NULL, 1.959964 / sqrt(n - 1)) END;

CREATE OR REPLACE VIEW run_pack AS
WITH named AS (
    SELECT run_id, evaluation, config_hash, unnest(json_extract_string(params, '$.pack[*]')) AS pinned FROM run
)
SELECT run_id, evaluation, config_hash, split_part(pinned, '@', 1) AS pack, split_part(pinned, '@', 2) AS pack_hash
FROM named;

COMMENT ON VIEW run_pack IS 'Packs that each run used: one row per run and pack.';
COMMENT ON COLUMN run_pack.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN run_pack.pack IS 'Name of the pack in that run.';
COMMENT ON COLUMN run_pack.pack_hash IS 'Content that was used: pack.pack_hash.';

CREATE OR REPLACE VIEW current_item AS
SELECT l.item_list, i.list_hash, i.position, i.item, i.aliases, i.countries, i.ingredients, i.code
FROM item AS i
JOIN item_list AS l USING (list_hash)
WHERE l.is_current;

COMMENT ON VIEW current_item IS 'Items of the current version of each item list, which a run started now would score.';
COMMENT ON COLUMN current_item.item_list IS 'Name of the list: domain.item_list.';
COMMENT ON COLUMN current_item.list_hash IS 'Version of the list: item_list.list_hash.';
COMMENT ON COLUMN current_item.position IS 'Place in the list as loaded, from 0.';
COMMENT ON COLUMN current_item.item IS 'Text that is scored.';
COMMENT ON COLUMN current_item.aliases IS 'Other names; not scored.';
COMMENT ON COLUMN current_item.countries IS 'Countries that the reference has the item for.';
COMMENT ON COLUMN current_item.ingredients IS 'Ingredients of a dish; empty for other lists.';
COMMENT ON COLUMN current_item.code IS 'ISO code of a language or currency; NULL where there is none.';

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
COMMENT ON COLUMN latest_run.model_hash IS 'Model: run.model_hash.';
COMMENT ON COLUMN latest_run.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN latest_run.n_answers IS 'Number of answers of the run: run.n_answers.';
COMMENT ON COLUMN latest_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history and the table run have those without a row here.';

CREATE OR REPLACE VIEW leaderboard AS
SELECT r.model, v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, r.evaluation,
    r.is_null, r.profile, r.config_hash, r.run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE v.slice_kind = 'overall';

COMMENT ON VIEW leaderboard IS 'The overall numbers of all evaluations, one row each: newest finished run of each model and configuration. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard.metric IS 'Metric: metric.metric of the evaluation.';
COMMENT ON COLUMN leaderboard.value IS 'The number; NULL if unscored (metric_value.unscored_reason).';
COMMENT ON COLUMN leaderboard.ci_low IS 'Lower end of the 95 % interval; NULL if there are too few units for its coverage to hold (docs/intervals.md).';
COMMENT ON COLUMN leaderboard.ci_high IS 'Upper end of the 95 % interval; NULL if ci_low is NULL.';
COMMENT ON COLUMN leaderboard.null_value IS 'Value of a null model for the same metric and slice.';
COMMENT ON COLUMN leaderboard.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN leaderboard.n_unscored IS 'Number of points that could not be scored.';

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
COMMENT ON COLUMN model_run.n_engines IS 'Number of engines of the model under the configuration; leaderboard_history has those without a row here.';

-- Lists of log-probabilities are compared by a hash of all their rows, other kinds of answers as texts.
-- Judges are matched by the hash of their engine, other answers by the model's name: parts have no other identity,
-- and request_hash, which has one, depends on the occasion too.
CREATE OR REPLACE VIEW answer_change AS
WITH asked AS (
    SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, coalesce(r.occasion, '') AS occasion, r.run_id,
        r.finished_at, q.topic, q.label, q.request_hash
    FROM run AS r
    JOIN run_request AS q USING (run_id)
    WHERE r.status = 'finished' AND NOT r.is_null
), answer AS (
    SELECT 'response' AS kind, request_hash, model AS answered_by, item AS unit, text AS answer
    FROM response
    UNION ALL
    SELECT 'item_logprob', request_hash, model, country, bit_xor(hash(item, logprob))::VARCHAR
    FROM item_logprob
    GROUP BY ALL
    UNION ALL
    SELECT 'candidate_score', request_hash, model, prompt, bit_xor(hash(candidate, logprob))::VARCHAR
    FROM candidate_score
    GROUP BY ALL
), answered AS (
    SELECT a.evaluation, a.config_hash, a.model, a.engine_hash, a.occasion, a.finished_at, x.kind, x.answered_by,
        x.answered_by AS answerer, a.topic, a.label, x.unit, x.answer
    FROM asked AS a
    JOIN answer AS x USING (request_hash)
    UNION ALL
    SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, coalesce(r.occasion, ''), r.finished_at, 'verdict',
        v.judge, coalesce(v.judge_hash, v.judge), v.rubric, v.judged, v.item, v.verdict
    FROM run AS r
    JOIN verdict AS v USING (run_id)
    WHERE r.status = 'finished' AND NOT r.is_null
)
SELECT x.evaluation, x.config_hash, x.model, x.engine_hash, x.occasion AS before_occasion,
    y.occasion AS after_occasion, x.kind, x.answered_by, x.topic, x.label, x.unit, x.answer AS before_answer,
    y.answer AS after_answer
FROM answered AS x
JOIN answered AS y USING (evaluation, config_hash, model, engine_hash, kind, answerer, topic, label, unit)
WHERE x.occasion <> y.occasion AND (x.finished_at, x.occasion) < (y.finished_at, y.occasion)
    AND x.answer IS DISTINCT FROM y.answer;

COMMENT ON VIEW answer_change IS 'Answers and verdicts that differ between two occasions of one configuration. Filter by model and both occasions: there are many pairs.';
COMMENT ON COLUMN answer_change.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN answer_change.model IS 'Model that is evaluated.';
COMMENT ON COLUMN answer_change.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN answer_change.before_occasion IS 'Occasion that finished first: run.occasion.';
COMMENT ON COLUMN answer_change.after_occasion IS 'Occasion that finished later: run.occasion.';
COMMENT ON COLUMN answer_change.kind IS 'Kind of change: response (a text), item_logprob or candidate_score (any of the numbers of a list), verdict.';
COMMENT ON COLUMN answer_change.answered_by IS 'Engine that answered: the model, or another one such as a judge.';
COMMENT ON COLUMN answer_change.topic IS 'Subject (run_request.topic); for a verdict the rubric.';
COMMENT ON COLUMN answer_change.label IS 'Request of that topic: run_request.label; for a verdict, the judged answer.';
COMMENT ON COLUMN answer_change.unit IS 'Item, country or sentence: the unit of the kind.';
COMMENT ON COLUMN answer_change.before_answer IS 'Text or verdict before; for a list of numbers, its hash.';
COMMENT ON COLUMN answer_change.after_answer IS 'Text, verdict or hash after.';

CREATE OR REPLACE VIEW judge_used AS
WITH validated AS (
    SELECT DISTINCT judge_hash, rubric
    FROM judge_validation
    WHERE value IS NOT NULL AND NOT starts_with(metric, 'krippendorff_alpha')
), used AS (
    -- A part belongs to the run that wrote it; runs of the same configuration have its judges and rubrics.
    SELECT DISTINCT r.evaluation, r.config_hash, v.judge, v.judge_hash, v.rubric
    FROM verdict AS v
    JOIN run AS r USING (run_id)
)
SELECT used.evaluation, used.config_hash, split_part(used.rubric, ' ', 1) AS metric, used.judge, used.judge_hash,
    used.rubric, validated.judge_hash IS NOT NULL AS validated
FROM used
LEFT JOIN validated USING (judge_hash, rubric);

COMMENT ON VIEW judge_used IS 'Judges and rubrics of a configuration, and whether the judge was compared with people under that rubric.';
COMMENT ON COLUMN judge_used.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN judge_used.metric IS 'Subject of the rubric: its name without the hash.';
COMMENT ON COLUMN judge_used.judge IS 'Model that judged.';
COMMENT ON COLUMN judge_used.judge_hash IS 'Hash of the judge''s engine.';
COMMENT ON COLUMN judge_used.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN judge_used.validated IS 'Whether judge_validation has a number for this judge under this rubric; see there how well the judge agrees with people.';

CREATE OR REPLACE VIEW sample_text AS
SELECT s.run_id, run.evaluation, s.model, s.config_hash, s.sample,
    coalesce(s.input, r.conversation) AS input, coalesce(s.output, r.text) AS output,
    s.target, s.scores, r.schema, r.sampling, s.more
FROM sample AS s
JOIN run USING (run_id)
LEFT JOIN response AS r ON r.request_hash = s.request AND r.item = s.prompt;

COMMENT ON VIEW sample_text IS 'Samples of every run, one a row: what was sent, what came back, target and scores. It reads nothing of today''s content.';
COMMENT ON COLUMN sample_text.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN sample_text.sample IS 'Name of the sample: of its item, conversation or question about a country.';
COMMENT ON COLUMN sample_text.input IS 'Messages that were sent, as JSON: [{role, content}].';
COMMENT ON COLUMN sample_text.output IS 'Text of the model, with its reasoning if the server sends it, or its probabilities in words.';
COMMENT ON COLUMN sample_text.target IS 'Right output, or several right ones, as JSON.';
COMMENT ON COLUMN sample_text.scores IS 'Scores by name as JSON: scores->''$.accuracy.value'' is a number.';
COMMENT ON COLUMN sample_text.schema IS 'JSON schema that was sent with the messages; NULL for free text.';
COMMENT ON COLUMN sample_text.sampling IS 'Sampling that was sent with the messages, as JSON; NULL if probabilities were read.';
COMMENT ON COLUMN sample_text.more IS 'Choices, transcript, end, tokens, metadata and other engines of the sample, as JSON.';
