CREATE OR REPLACE VIEW leaderboard_worldwise AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null,
        any_value(v.value) FILTER (v.metric = 'alignment_gain' AND v.slice_kind = 'overall') AS alignment_gain,
        any_value(v.ci_low) FILTER (v.metric = 'alignment_gain' AND v.slice_kind = 'overall') AS gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'alignment_gain' AND v.slice_kind = 'overall') AS gain_high,
        first(v.slice ORDER BY v.value DESC,
            list_position(['zero', 'global_mean', 'scenario_text', 'shuffled', 'unprompted'], v.slice)
        ) FILTER (v.metric = 'alignment' AND v.slice_kind = 'null' AND v.value IS NOT NULL) AS best_null,
        any_value(v.value) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall') AS alignment,
        any_value(v.ci_low) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'alignment_sd' AND v.slice_kind = 'overall') AS alignment_sd,
        any_value(v.null_value) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall') AS null_alignment,
        any_value(v.value) FILTER (v.metric = 'hofstede_mae' AND v.slice_kind = 'overall') AS hofstede_mae,
        any_value(v.null_value) FILTER (v.metric = 'hofstede_mae' AND v.slice_kind = 'overall') AS null_mae,
        any_value(v.value) FILTER (v.metric = 'value_shift' AND v.slice_kind = 'overall') AS value_shift,
        any_value(v.null_value) FILTER (v.metric = 'value_shift' AND v.slice_kind = 'overall') AS null_shift,
        any_value(v.value) FILTER (v.metric = 'persona_recognition' AND v.slice_kind = 'overall') AS recognition,
        any_value(v.ci_low) FILTER (v.metric = 'persona_recognition' AND v.slice_kind = 'overall') AS recognition_low,
        any_value(v.ci_high) FILTER (v.metric = 'persona_recognition' AND v.slice_kind = 'overall') AS recognition_high,
        any_value(v.value) FILTER (v.metric = 'answer_variety' AND v.slice_kind = 'overall') AS variety,
        any_value(v.null_value) FILTER (v.metric = 'answer_variety' AND v.slice_kind = 'overall') AS null_variety,
        any_value(v.value) FILTER (v.metric = 'stereotype_score' AND v.slice_kind = 'overall') AS stereotype_score,
        first(v.slice ORDER BY v.value, v.slice)
            FILTER (v.metric = 'baseline_distance' AND v.value IS NOT NULL) AS closest_culture,
        min(v.value) FILTER (v.metric = 'baseline_distance') AS closest_distance,
        sum(v.value * v.n_scored) FILTER (v.slice LIKE '%:Decline' AND v.slice <> 'baseline:Decline')
            / nullif(sum(v.n_scored) FILTER (v.slice LIKE '%:Decline' AND v.slice <> 'baseline:Decline'), 0)
            AS decline_share,
        any_value(v.value) FILTER (v.metric = 'answered') AS answered,
        any_value(v.n_scored + v.n_unscored) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall')
            AS n_answers,
        any_value(v.n_scored) FILTER (v.metric = 'alignment' AND v.slice_kind = 'overall') AS n_scored,
        r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'worldwise'
    GROUP BY ALL
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY is_null, alignment_gain DESC NULLS LAST, alignment DESC NULLS LAST, model
    ) AS place,
    * EXCLUDE (config_hash)
FROM wide
ORDER BY max(finished_at) OVER (PARTITION BY config_hash) DESC, config_hash, place;

COMMENT ON VIEW leaderboard_worldwise IS 'One row per configuration and model: newest configuration first; within each, models by alignment_gain, then null models. Read the gain first: null models reach a high alignment too. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_worldwise.place IS 'Order in the configuration, from 1: models by gain, then by alignment, then null models.';
COMMENT ON COLUMN leaderboard_worldwise.alignment_gain IS 'Alignment minus the alignment of best_null, answer by answer; NULL if unscored.';
COMMENT ON COLUMN leaderboard_worldwise.gain_low IS 'Lower end of the 95 % interval of alignment_gain, over scenarios; above 0, the model scores more than best_null.';
COMMENT ON COLUMN leaderboard_worldwise.gain_high IS 'Upper end of the 95 % interval of alignment_gain; below 0, the model scores less than best_null.';
COMMENT ON COLUMN leaderboard_worldwise.best_null IS 'The null model with the highest alignment for this model: zero, global_mean, scenario_text, shuffled or unprompted; ties in this order.';
COMMENT ON COLUMN leaderboard_worldwise.alignment IS 'Mean alignment of answers with a persona to their culture''s target, 0 to 10; NULL if unscored.';
COMMENT ON COLUMN leaderboard_worldwise.ci_low IS 'Lower end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN leaderboard_worldwise.ci_high IS 'Upper end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN leaderboard_worldwise.alignment_sd IS 'Standard deviation of alignment over answers.';
COMMENT ON COLUMN leaderboard_worldwise.null_alignment IS 'alignment of best_null.';
COMMENT ON COLUMN leaderboard_worldwise.hofstede_mae IS 'Mean absolute error of scores against targets, 0 to 4, on primary dimensions.';
COMMENT ON COLUMN leaderboard_worldwise.null_mae IS 'hofstede_mae of the all-zero profile.';
COMMENT ON COLUMN leaderboard_worldwise.value_shift IS 'Total variation distance of named values with and without a persona, 0 to 1, mean over cultures.';
COMMENT ON COLUMN leaderboard_worldwise.null_shift IS 'value_shift expected by chance: mean over permuted answers.';
COMMENT ON COLUMN leaderboard_worldwise.recognition IS 'Recognition of the persona''s culture from the wording, without names: 0 at chance, 1 always right. If variety is well below null_variety, it comes from set phrases.';
COMMENT ON COLUMN leaderboard_worldwise.recognition_low IS 'Lower end of the 95 % interval of recognition, over scenarios.';
COMMENT ON COLUMN leaderboard_worldwise.recognition_high IS 'Upper end of the 95 % interval of recognition, over scenarios.';
COMMENT ON COLUMN leaderboard_worldwise.variety IS 'Mean distance between the words of two answers of a culture to different scenarios: 0 for the same words, 1 for no common word.';
COMMENT ON COLUMN leaderboard_worldwise.null_variety IS 'Distance between answers of different cultures.';
COMMENT ON COLUMN leaderboard_worldwise.stereotype_score IS 'Score from 0 to 10, where 10 means no listed phrase; NULL unless stereotype_rule counts phrases.';
COMMENT ON COLUMN leaderboard_worldwise.closest_culture IS 'Culture whose target is closest to the answers without a persona; ties by code.';
COMMENT ON COLUMN leaderboard_worldwise.closest_distance IS 'Distance of closest_culture: root mean square over those answers, 0 to 4.';
COMMENT ON COLUMN leaderboard_worldwise.decline_share IS 'Share of answers with a persona that decline to choose, 0 to 1.';
COMMENT ON COLUMN leaderboard_worldwise.answered IS 'Share of answers that could be scored, 0 to 1.';
COMMENT ON COLUMN leaderboard_worldwise.n_answers IS 'Number of answers with a persona, scored or not.';
COMMENT ON COLUMN leaderboard_worldwise.n_scored IS 'Number of these answers from which alignment is computed.';
