CREATE OR REPLACE VIEW leaderboard_harness AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at,
        any_value(v.value) FILTER (v.metric = 'score') AS "score",
        any_value(v.ci_low) FILTER (v.metric = 'score') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'score') AS ci_high,
        any_value(v.null_value) FILTER (v.metric = 'score') AS null_value,
        any_value(v.value) FILTER (v.metric = 'score_no_question') AS "score_no_question",
        any_value(v.value) FILTER (v.metric = 'no_question_gain') AS "no_question_gain",
        any_value(v.value) FILTER (v.metric = 'score_other_question') AS "score_other_question",
        any_value(v.value) FILTER (v.metric = 'other_question_gain') AS "other_question_gain",
        any_value(v.value) FILTER (v.metric = 'coverage') AS "coverage",
        any_value(v.value) FILTER (v.metric = 'truncated') AS "truncated",
        any_value(v.n_scored) FILTER (v.metric = 'score') AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric = 'score') AS n_unscored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'harness' AND v.slice_kind = 'overall'
    GROUP BY ALL
)
SELECT wide.*, a.is_beyond_null, a.doubt, row_number() OVER (
    PARTITION BY wide.config_hash ORDER BY wide.is_null, wide."score" DESC NULLS LAST, wide.model, wide.run_id
) AS place
FROM wide
LEFT JOIN against_null AS a ON a.run_id = wide.run_id AND a.metric = 'score';

COMMENT ON VIEW leaderboard_harness IS 'Leaderboard of harness, tasks of lm-evaluation-harness: newest finished run of each model and configuration. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_harness.ci_low IS 'Lower end of the 95 % interval of score, over clusters; NULL if there is none.';
COMMENT ON COLUMN leaderboard_harness.ci_high IS 'Upper end of the 95 % interval of score; NULL if there is none.';
COMMENT ON COLUMN leaderboard_harness.null_value IS 'Score of the best null model, chosen for each task.';
COMMENT ON COLUMN leaderboard_harness.n_scored IS 'Number of items from which score is computed.';
COMMENT ON COLUMN leaderboard_harness.n_unscored IS 'Number of items that could not be scored.';
COMMENT ON COLUMN leaderboard_harness.is_beyond_null IS 'Whether the interval lies beyond the null and no doubt applies; NULL for null models, and without an interval or a null.';
COMMENT ON COLUMN leaderboard_harness.place IS 'Order of the leaderboard within its configuration, from 1.';
COMMENT ON COLUMN leaderboard_harness."score" IS 'Mean over documents of the task''s first metric (--metric names another), from 0 to 1.';
COMMENT ON COLUMN leaderboard_harness."score_no_question" IS 'Prompts with the question left out, where that can be done.';
COMMENT ON COLUMN leaderboard_harness."no_question_gain" IS 'Gain of the score over: Prompts with the question left out, where that can be done.';
COMMENT ON COLUMN leaderboard_harness."score_other_question" IS 'Options after another document''s prompt; of texts, the model''s text about another document.';
COMMENT ON COLUMN leaderboard_harness."other_question_gain" IS 'Gain of the score over: Options after another document''s prompt; of texts, the model''s text about another document.';
COMMENT ON COLUMN leaderboard_harness."coverage" IS 'Share of documents that have an answer.';
COMMENT ON COLUMN leaderboard_harness."truncated" IS 'Share of documents whose context was cut on the left: the model could not hold it.';
