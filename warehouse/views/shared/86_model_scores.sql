CREATE OR REPLACE VIEW model_scores AS
SELECT n.model, m.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, n.evaluation,
    v.unscored_reason, a.is_beyond_null, a.doubt, m.label, m.direction, n.dtype, n.model_id, n.config_hash, n.model_hash,
    n.engine_hash, n.run_id, n.finished_at
FROM shown_run AS n
JOIN metric AS m ON m.evaluation = n.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = n.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
JOIN against_null AS a ON a.run_id = n.run_id AND a.metric = m.metric;

COMMENT ON VIEW model_scores IS 'Every model on every headline of every evaluation: in the configuration that pages show, from the engine in shown_run. Compare models within a metric, not metrics: their scales differ.';
COMMENT ON COLUMN model_scores.config_hash IS 'Configuration: run.config_hash; one for each evaluation.';
COMMENT ON COLUMN model_scores.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN model_scores.label IS 'Name of the headline for display.';
COMMENT ON COLUMN model_scores.direction IS 'Direction that is better: higher or lower.';
COMMENT ON COLUMN model_scores.model IS 'Model; null models are in null_value.';
COMMENT ON COLUMN model_scores.model_hash IS 'Hash on which evaluations are joined (run.model_hash).';
COMMENT ON COLUMN model_scores.engine_hash IS 'Engine that answered: run.engine_hash.';
COMMENT ON COLUMN model_scores.dtype IS 'Precision of the engine; NULL if a server chooses it.';
COMMENT ON COLUMN model_scores.model_id IS 'Hugging Face id or path of the model.';
COMMENT ON COLUMN model_scores.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN model_scores.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN model_scores.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN model_scores.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';
COMMENT ON COLUMN model_scores.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN model_scores.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN model_scores.n_unscored IS 'Number of points that could not be scored.';
COMMENT ON COLUMN model_scores.is_beyond_null IS 'Value of against_null.is_beyond_null, which reports show too; NULL without an interval or a null.';
COMMENT ON COLUMN model_scores.doubt IS 'Reason not to trust the headline (doubt.reason); NULL if there is none.';

CREATE OR REPLACE VIEW external_ranking AS
WITH ranking AS (
    SELECT benchmark, model, place, concat_ws('|', model, known_as) AS names, source, topics, note, false AS is_users
    FROM external_rank
    WHERE benchmark NOT IN (SELECT benchmark FROM user_rank)
    UNION ALL
    SELECT benchmark, model, place, model, source, NULL, NULL, true FROM user_rank
), known AS (
    SELECT DISTINCT model_scores.model, model_hash,
        unnest([lower(model_scores.model), lower(split_part(model_scores.model, '#', 1)), lower(model_id), lower(split_part(saved.model, '#', 1))]) AS name
    FROM model_scores
    JOIN (SELECT run_id, model FROM run_base) AS saved USING (run_id)
)
SELECT DISTINCT r.benchmark, r.place, r.model, k.model AS our_model, k.model_hash, r.source, r.topics, r.note, r.is_users
FROM ranking AS r
LEFT JOIN known AS k ON list_contains(string_split(lower(r.names), '|'), k.name);

COMMENT ON VIEW external_ranking IS 'Rankings by external benchmarks, matched to the models run here: the five that Measuring Meta-Cultural Competency quotes in table 5, and those that users imported (culturemeter ranking).';
COMMENT ON COLUMN external_ranking.benchmark IS 'Benchmark; a user''s ranking replaces a quoted one of the same name.';
COMMENT ON COLUMN external_ranking.place IS 'Place, from 1: the best.';
COMMENT ON COLUMN external_ranking.model IS 'Model, as the benchmark names it.';
COMMENT ON COLUMN external_ranking.our_model IS 'Name of the model on leaderboards; NULL if it was not run here.';
COMMENT ON COLUMN external_ranking.model_hash IS 'Value of model_scores.model_hash; NULL if it was not run here.';
COMMENT ON COLUMN external_ranking.source IS 'Authors of the benchmark, or the file.';
COMMENT ON COLUMN external_ranking.topics IS 'Subject.';
COMMENT ON COLUMN external_ranking.note IS 'Further notes.';
COMMENT ON COLUMN external_ranking.is_users IS 'Whether a user imported it.';
