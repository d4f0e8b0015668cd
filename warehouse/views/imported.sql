CREATE OR REPLACE VIEW leaderboard_imported AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at, run.occasion,
        run.params->>'harness' AS harness, run.params->>'harness_version' AS harness_version, run.params->>'task' AS task,
        nullif(run.params->>'cluster', '') AS cluster, coalesce(json_contains(run.params->'stated', to_json(saved.model)), false) AS is_stated,
        any_value(v.value) FILTER (v.metric = 'score') AS score,
        any_value(v.value) FILTER (v.metric = 'loss') AS loss,
        any_value(v.ci_low) FILTER (v.metric IN ('score', 'loss')) AS ci_low,
        any_value(v.ci_high) FILTER (v.metric IN ('score', 'loss')) AS ci_high,
        any_value(v.null_value) FILTER (v.metric IN ('score', 'loss')) AS null_value,
        any_value(v.value) FILTER (v.metric = 'stderr') AS stderr,
        any_value(v.value) FILTER (v.metric = 'coverage') AS coverage,
        any_value(v.n_scored) FILTER (v.metric IN ('score', 'loss')) AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric IN ('score', 'loss')) AS n_unscored
    FROM latest_run AS r
    JOIN run USING (run_id)
    JOIN run_base AS saved USING (run_id)
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'imported' AND v.slice_kind = 'overall'
    GROUP BY ALL
)
SELECT wide.*, a.is_beyond_null, a.doubt, row_number() OVER (
    PARTITION BY wide.config_hash
    ORDER BY wide.is_null, wide.score DESC NULLS LAST, wide.loss NULLS LAST, wide.model, wide.run_id
) AS place
FROM wide
LEFT JOIN against_null AS a ON a.run_id = wide.run_id AND a.metric = if(wide.loss IS NULL, 'score', 'loss');

COMMENT ON VIEW leaderboard_imported IS 'Leaderboard of imported, logs of other programs: newest log of each model and configuration. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_imported.profile IS 'Task of the log.';
COMMENT ON COLUMN leaderboard_imported.finished_at IS 'When the log was imported (UTC).';
COMMENT ON COLUMN leaderboard_imported.occasion IS 'Date of the log (UTC); empty if it has none.';
COMMENT ON COLUMN leaderboard_imported.harness IS 'Program that made the log.';
COMMENT ON COLUMN leaderboard_imported.harness_version IS 'Version of that program.';
COMMENT ON COLUMN leaderboard_imported.task IS 'Task in that program.';
COMMENT ON COLUMN leaderboard_imported.cluster IS 'Field of the log over which the interval is computed; NULL: each item is its own cluster.';
COMMENT ON COLUMN leaderboard_imported.is_stated IS 'Whether somebody said which model this is (--model-as), because the log does not name its weights.';
COMMENT ON COLUMN leaderboard_imported.score IS 'Mean over items of the log''s own scores, if higher is better.';
COMMENT ON COLUMN leaderboard_imported.loss IS 'Mean over items of the log''s own scores, if lower is better.';
COMMENT ON COLUMN leaderboard_imported.ci_low IS 'Lower end of the 95 % interval over clusters; NULL if there is none.';
COMMENT ON COLUMN leaderboard_imported.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_imported.null_value IS 'Score of the best model that reads no question; NULL if none can be computed.';
COMMENT ON COLUMN leaderboard_imported.stderr IS 'Standard error of the mean as if items were independent, as the program prints it.';
COMMENT ON COLUMN leaderboard_imported.coverage IS 'Share of items that have an answer.';
COMMENT ON COLUMN leaderboard_imported.n_scored IS 'Number of items from which the number is computed.';
COMMENT ON COLUMN leaderboard_imported.n_unscored IS 'Number of items without a number.';
COMMENT ON COLUMN leaderboard_imported.is_beyond_null IS 'Whether the interval lies beyond the null; NULL for null models, and without an interval or a null.';
COMMENT ON COLUMN leaderboard_imported.place IS 'Order of the leaderboard within its configuration, from 1.';

CREATE OR REPLACE VIEW imported_published AS
SELECT row_number() OVER (ORDER BY slice, model, source) AS place, slice_kind, slice, model, value, source, difference, note
FROM recipe_published
WHERE evaluation = 'imported';

COMMENT ON VIEW imported_published IS 'Numbers of imported logs that have no samples. Nothing ranks them.';
COMMENT ON COLUMN imported_published.place IS 'Order, from 1.';
COMMENT ON COLUMN imported_published.slice_kind IS 'task.';
COMMENT ON COLUMN imported_published.slice IS 'Task.';
COMMENT ON COLUMN imported_published.model IS 'Model, as the log names it.';
COMMENT ON COLUMN imported_published.value IS 'The number.';
COMMENT ON COLUMN imported_published.source IS 'Program, version and date of the log.';
COMMENT ON COLUMN imported_published.difference IS 'The log''s metric.';
COMMENT ON COLUMN imported_published.note IS 'Its standard error, if the log states one.';
