CREATE OR REPLACE VIEW worldwise_by_culture AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS culture,
        any_value(v.value) FILTER (v.metric = 'alignment_gain') AS alignment_gain,
        any_value(v.ci_low) FILTER (v.metric = 'alignment_gain') AS gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'alignment_gain') AS gain_high,
        any_value(v.value) FILTER (v.metric = 'alignment') AS alignment,
        any_value(v.ci_low) FILTER (v.metric = 'alignment') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'alignment') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'alignment_sd') AS alignment_sd,
        any_value(v.null_value) FILTER (v.metric = 'alignment') AS null_alignment,
        any_value(v.value) FILTER (v.metric = 'hofstede_mae') AS hofstede_mae,
        any_value(v.null_value) FILTER (v.metric = 'hofstede_mae') AS null_mae,
        any_value(v.value) FILTER (v.metric = 'hofstede_median_error') AS hofstede_median_error,
        any_value(v.value) FILTER (v.metric = 'hofstede_error_sd') AS hofstede_error_sd,
        any_value(v.value) FILTER (v.metric = 'hofstede_bias') AS hofstede_bias,
        any_value(v.value) FILTER (v.metric = 'baseline_distance') AS baseline_distance,
        any_value(v.null_value) FILTER (v.metric = 'baseline_distance') AS null_distance,
        any_value(v.value) FILTER (v.metric = 'value_shift') AS value_shift,
        any_value(v.null_value) FILTER (v.metric = 'value_shift') AS null_shift,
        any_value(v.value) FILTER (v.metric = 'value_shift_p') AS value_shift_p,
        any_value(v.value) FILTER (v.metric = 'persona_recognition') AS recognition,
        any_value(v.value) FILTER (v.metric = 'answer_variety') AS variety,
        any_value(v.null_value) FILTER (v.metric = 'answer_variety') AS null_variety,
        any_value(v.value) FILTER (v.metric = 'stereotype_score') AS stereotype_score,
        any_value(v.null_value) FILTER (v.metric = 'stereotype_score') AS null_stereotype,
        any_value(v.value) FILTER (v.metric = 'decision_share' AND v.slice LIKE '%:A') AS share_a,
        any_value(v.value) FILTER (v.metric = 'decision_share' AND v.slice LIKE '%:B') AS share_b,
        any_value(v.value) FILTER (v.metric = 'decision_share' AND v.slice LIKE '%:Decline') AS share_decline,
        any_value(v.n_scored) FILTER (v.metric = 'alignment') AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric = 'alignment') AS n_unscored,
        r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'worldwise' AND v.slice_kind IN ('culture', 'culture_decision')
    GROUP BY ALL
)
SELECT wide.* EXCLUDE (run_id, finished_at), coalesce(c.name, wide.culture) AS culture_name,
    wide.run_id, wide.finished_at
FROM wide
LEFT JOIN country AS c ON c.country = wide.culture;

COMMENT ON VIEW worldwise_by_culture IS 'The leaderboard''s numbers culture by culture, and baseline: the answers without a persona, which have no target.';
COMMENT ON COLUMN worldwise_by_culture.culture IS 'Culture of the persona: country.country, or baseline: no persona.';
COMMENT ON COLUMN worldwise_by_culture.alignment_gain IS 'Alignment minus the alignment of the model''s best null model, answer by answer; NULL if unscored.';
COMMENT ON COLUMN worldwise_by_culture.gain_low IS 'Lower end of the 95 % interval of alignment_gain, over scenarios.';
COMMENT ON COLUMN worldwise_by_culture.gain_high IS 'Upper end of the 95 % interval of alignment_gain.';
COMMENT ON COLUMN worldwise_by_culture.alignment IS 'Mean alignment of the answers to the culture''s target, 0 to 10; NULL if unscored.';
COMMENT ON COLUMN worldwise_by_culture.ci_low IS 'Lower end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN worldwise_by_culture.ci_high IS 'Upper end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN worldwise_by_culture.alignment_sd IS 'Standard deviation of alignment over answers.';
COMMENT ON COLUMN worldwise_by_culture.null_alignment IS 'alignment of the model''s best null model (leaderboard_worldwise.best_null).';
COMMENT ON COLUMN worldwise_by_culture.hofstede_mae IS 'Mean absolute error of scores against the target, 0 to 4, on primary dimensions.';
COMMENT ON COLUMN worldwise_by_culture.null_mae IS 'hofstede_mae of the all-zero profile.';
COMMENT ON COLUMN worldwise_by_culture.hofstede_median_error IS 'Median absolute error.';
COMMENT ON COLUMN worldwise_by_culture.hofstede_error_sd IS 'Standard deviation of the absolute errors.';
COMMENT ON COLUMN worldwise_by_culture.hofstede_bias IS 'Mean of score minus target, -4 to 4.';
COMMENT ON COLUMN worldwise_by_culture.baseline_distance IS 'Root mean square distance of the answers without a persona to this culture''s target, 0 to 4.';
COMMENT ON COLUMN worldwise_by_culture.null_distance IS 'baseline_distance of the all-zero profile.';
COMMENT ON COLUMN worldwise_by_culture.value_shift IS 'Total variation distance between the values named with this culture''s persona and without a persona, 0 to 1.';
COMMENT ON COLUMN worldwise_by_culture.null_shift IS 'value_shift expected by chance: mean over permuted answers.';
COMMENT ON COLUMN worldwise_by_culture.value_shift_p IS 'p-value of value_shift: permutation of personas.';
COMMENT ON COLUMN worldwise_by_culture.recognition IS 'Recognition of this culture from the wording, without names: 0 at chance, 1 always right.';
COMMENT ON COLUMN worldwise_by_culture.variety IS 'Mean distance between the words of its answers to different scenarios, 0 to 1.';
COMMENT ON COLUMN worldwise_by_culture.null_variety IS 'Mean distance between its answers and those of other cultures.';
COMMENT ON COLUMN worldwise_by_culture.stereotype_score IS 'Score from 0 to 10, where 10 means no listed phrase; NULL unless stereotype_rule counts phrases.';
COMMENT ON COLUMN worldwise_by_culture.null_stereotype IS 'stereotype_score of the scenarios'' own texts.';
COMMENT ON COLUMN worldwise_by_culture.share_a IS 'Share of answers that choose option A, 0 to 1.';
COMMENT ON COLUMN worldwise_by_culture.share_b IS 'Share of answers that choose option B, 0 to 1.';
COMMENT ON COLUMN worldwise_by_culture.share_decline IS 'Share of answers that decline to choose, 0 to 1.';
COMMENT ON COLUMN worldwise_by_culture.n_scored IS 'Number of answers from which alignment is computed.';
COMMENT ON COLUMN worldwise_by_culture.n_unscored IS 'Number of answers that could not be scored.';
COMMENT ON COLUMN worldwise_by_culture.culture_name IS 'English name of the culture''s country.';
