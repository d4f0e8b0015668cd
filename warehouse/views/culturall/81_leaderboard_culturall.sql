CREATE OR REPLACE VIEW leaderboard_culturall AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS accuracy,
        any_value(ci_low) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS ci_low,
        any_value(ci_high) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS ci_high,
        any_value(null_value) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS null_value,
        any_value(value) FILTER (metric = 'accuracy_answered' AND slice_kind = 'overall') AS accuracy_answered,
        any_value(n_scored) FILTER (metric = 'accuracy_answered' AND slice_kind = 'overall') AS n_answered,
        any_value(value) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain,
        any_value(ci_low) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain_low,
        any_value(ci_high) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain_high,
        any_value(value) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain,
        any_value(ci_low) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain_low,
        any_value(ci_high) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain_high,
        any_value(value) FILTER (metric = 'accuracy_matched' AND slice_kind = 'overall') AS accuracy_matched,
        any_value(value) FILTER (metric = 'accuracy_matched_low' AND slice_kind = 'overall') AS matched_low,
        any_value(value) FILTER (metric = 'accuracy_matched_high' AND slice_kind = 'overall') AS matched_high,
        any_value(value) FILTER (metric = 'match_read' AND slice_kind = 'overall') AS match_read,
        any_value(value) FILTER (metric = 'accuracy_english' AND slice_kind = 'overall') AS accuracy_english,
        any_value(value) FILTER (metric = 'accuracy_question' AND slice_kind = 'overall') AS accuracy_question,
        any_value(value) FILTER (metric = 'accuracy_retrieval' AND slice_kind = 'overall') AS accuracy_retrieval,
        any_value(value) FILTER (metric = 'judge_match_agreement' AND slice_kind = 'overall') AS judge_match_agreement,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'easy') AS easy,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'medium') AS medium,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'hard') AS hard,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'easy')
            AS published_easy,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'medium')
            AS published_medium,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'hard')
            AS published_hard,
        any_value(value) FILTER (metric = 'coverage' AND slice_kind = 'overall') AS coverage,
        any_value(value) FILTER (metric = 'unanswered' AND slice_kind = 'reason' AND slice = 'refused') AS refused,
        any_value(n_scored) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS n_scored,
        any_value(n_scored + n_unscored) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS n_items,
        any_value(value) FILTER (metric = 'self_preference_warning') = 1 AS self_preference
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'culturall'
    GROUP BY ALL
), judging AS (
    SELECT config_hash, string_agg(judge, ', ' ORDER BY judge) AS judge, bool_and(validated) AS validated
    FROM judge_used
    WHERE evaluation = 'culturall'
    GROUP BY config_hash
), flags AS (
    SELECT config_hash, bool_or(flagged) AS judge_flagged FROM culturall_judge GROUP BY config_hash
), checked AS (
    SELECT a.config_hash, count(DISTINCT a.item) FILTER (coalesce(i.status, a.status) = 'not checked by people')
        AS n_not_checked
    FROM culturall_answer AS a
    LEFT JOIN culturall_item AS i USING (item)
    GROUP BY a.config_hash
)
SELECT wide.config_hash,
    row_number() OVER (
        PARTITION BY wide.config_hash ORDER BY wide.is_null, wide.accuracy DESC NULLS LAST, wide.model
    ) AS place,
    wide.* EXCLUDE (config_hash, self_preference, n_scored, n_items, run_id, finished_at, is_null),
    judging.judge, judging.validated, flags.judge_flagged, wide.self_preference, wide.n_scored, wide.n_items,
    checked.n_not_checked, wide.run_id, wide.finished_at, wide.is_null
FROM wide
LEFT JOIN judging USING (config_hash)
LEFT JOIN flags USING (config_hash)
LEFT JOIN checked USING (config_hash)
ORDER BY max(wide.finished_at) OVER (PARTITION BY wide.config_hash) DESC, wide.config_hash, place;

COMMENT ON VIEW leaderboard_culturall IS 'One row per configuration and model: newest configuration first, models by accuracy, then null models. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_culturall.place IS 'Order in the configuration, from 1: models by accuracy, then null models.';
COMMENT ON COLUMN leaderboard_culturall.model IS 'Model; null:constant-letter always gives the commonest letter, null:other-answer another item''s answer.';
COMMENT ON COLUMN leaderboard_culturall.accuracy IS 'Share of all items answered rightly in their own language, as judges decide or, without judges, matching; refused, empty and cut-off answers are wrong; NULL if not run or unscored.';
COMMENT ON COLUMN leaderboard_culturall.ci_low IS 'Lower end of the 95 % interval of accuracy, over regions, or over items if all are of one region; by match it holds all answers that are not read as wrong.';
COMMENT ON COLUMN leaderboard_culturall.ci_high IS 'Upper end of the 95 % interval of accuracy; by match it holds all answers that are not read as right.';
COMMENT ON COLUMN leaderboard_culturall.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_answered IS 'Accuracy without refused, empty and cut-off answers.';
COMMENT ON COLUMN leaderboard_culturall.n_answered IS 'Number of items from which accuracy_answered is computed.';
COMMENT ON COLUMN leaderboard_culturall.english_gain IS 'Accuracy in English minus accuracy in the item''s own language, item by item; English items are left out.';
COMMENT ON COLUMN leaderboard_culturall.english_gain_low IS 'Lower end of the 95 % interval of english_gain.';
COMMENT ON COLUMN leaderboard_culturall.english_gain_high IS 'Upper end of the 95 % interval of english_gain.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain IS 'Accuracy with the scenario minus accuracy without it, item by item.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain_low IS 'Lower end of the 95 % interval of scenario_gain.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain_high IS 'Upper end of the 95 % interval of scenario_gain.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_matched IS 'Share of the answers that matching reads which match the gold answer, without a judge; NULL if it reads less than half.';
COMMENT ON COLUMN leaderboard_culturall.matched_low IS 'Accuracy by match if every answer that matching does not read were wrong.';
COMMENT ON COLUMN leaderboard_culturall.matched_high IS 'Accuracy by match if every answer that matching does not read were right.';
COMMENT ON COLUMN leaderboard_culturall.match_read IS 'Share of readable answers that matching reads: short ones in a plain form.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_english IS 'Accuracy in English.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_question IS 'Accuracy without the scenario, from the question alone.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_retrieval IS 'Accuracy with passages of the user''s documents.';
COMMENT ON COLUMN leaderboard_culturall.judge_match_agreement IS 'Share of the answers that matching reads on which judging and matching agree.';
COMMENT ON COLUMN leaderboard_culturall.easy IS 'Accuracy on items that at least 10 in 15 of the cohort''s other models solve; NULL for fewer than three other models.';
COMMENT ON COLUMN leaderboard_culturall.medium IS 'Accuracy on items that at least 5, but fewer than 10, in 15 of the cohort''s other models solve.';
COMMENT ON COLUMN leaderboard_culturall.hard IS 'Accuracy on items that fewer than 5 in 15 of the cohort''s other models solve.';
COMMENT ON COLUMN leaderboard_culturall.published_easy IS 'Accuracy on items that 10 to 14 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.published_medium IS 'Accuracy on items that 5 to 9 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.published_hard IS 'Accuracy on items that at most 4 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.coverage IS 'Share of all prompts with a readable answer.';
COMMENT ON COLUMN leaderboard_culturall.refused IS 'Share of all prompts that were refused; NULL if none.';
COMMENT ON COLUMN leaderboard_culturall.judge IS 'Judges; NULL if there are none.';
COMMENT ON COLUMN leaderboard_culturall.validated IS 'Whether all judges were compared with people under this rubric.';
COMMENT ON COLUMN leaderboard_culturall.judge_flagged IS 'Whether a judge accepts under 90 % of gold answers, or refuses under 90 % of other items'' answers or of empty ones, overall or in a language.';
COMMENT ON COLUMN leaderboard_culturall.self_preference IS 'Whether a judge and the model are of one model family.';
COMMENT ON COLUMN leaderboard_culturall.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN leaderboard_culturall.n_items IS 'Number of items sent to the model.';
COMMENT ON COLUMN leaderboard_culturall.n_not_checked IS 'Number of items that no person has checked.';
