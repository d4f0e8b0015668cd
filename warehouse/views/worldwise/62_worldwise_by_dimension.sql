CREATE OR REPLACE VIEW worldwise_by_dimension AS
SELECT r.config_hash, r.profile, r.model, r.is_null,
    CASE v.slice_kind WHEN 'dimension' THEN v.slice ELSE split_part(v.slice, ':', 2) END AS dimension,
    CASE v.slice_kind WHEN 'culture_dimension' THEN split_part(v.slice, ':', 1) END AS culture,
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
    any_value(v.value) FILTER (v.metric = 'hofstede_bias') AS hofstede_bias,
    any_value(v.value) FILTER (v.metric = 'projection') AS projection,
    any_value(v.null_value) FILTER (v.metric = 'projection') AS null_projection,
    any_value(v.n_scored) FILTER (v.metric = 'alignment') AS n_scored,
    any_value(v.n_unscored) FILTER (v.metric = 'alignment') AS n_unscored,
    r.run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'worldwise' AND v.slice_kind IN ('dimension', 'culture_dimension')
GROUP BY ALL;

COMMENT ON VIEW worldwise_by_dimension IS 'The leaderboard''s numbers dimension by dimension: over all cultures, and in each culture. Dimensions without scenarios of their own have a projection only.';
COMMENT ON COLUMN worldwise_by_dimension.dimension IS 'Dimension: dimension.dimension.';
COMMENT ON COLUMN worldwise_by_dimension.culture IS 'Culture of the persona: country.country, or baseline: no persona; NULL: all personas together.';
COMMENT ON COLUMN worldwise_by_dimension.alignment_gain IS 'Alignment minus the alignment of the model''s best null model, answer by answer; NULL if unscored, and in single cultures.';
COMMENT ON COLUMN worldwise_by_dimension.gain_low IS 'Lower end of the 95 % interval of alignment_gain, over scenarios.';
COMMENT ON COLUMN worldwise_by_dimension.gain_high IS 'Upper end of the 95 % interval of alignment_gain.';
COMMENT ON COLUMN worldwise_by_dimension.alignment IS 'Mean alignment of the answers to scenarios of the dimension, 0 to 10; NULL if unscored.';
COMMENT ON COLUMN worldwise_by_dimension.ci_low IS 'Lower end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN worldwise_by_dimension.ci_high IS 'Upper end of the 95 % interval of alignment, over scenarios.';
COMMENT ON COLUMN worldwise_by_dimension.alignment_sd IS 'Standard deviation of alignment over answers.';
COMMENT ON COLUMN worldwise_by_dimension.null_alignment IS 'alignment of the model''s best null model (leaderboard_worldwise.best_null).';
COMMENT ON COLUMN worldwise_by_dimension.hofstede_mae IS 'Mean absolute error of scores against targets, 0 to 4.';
COMMENT ON COLUMN worldwise_by_dimension.null_mae IS 'hofstede_mae of the all-zero profile.';
COMMENT ON COLUMN worldwise_by_dimension.hofstede_bias IS 'Mean of score minus target, -4 to 4.';
COMMENT ON COLUMN worldwise_by_dimension.projection IS 'Mean score of all answers of the culture on the dimension, -2 to 2, whatever their scenario''s own dimension.';
COMMENT ON COLUMN worldwise_by_dimension.null_projection IS 'Mean score of the scenarios'' own texts.';
COMMENT ON COLUMN worldwise_by_dimension.n_scored IS 'Number of answers from which alignment is computed.';
COMMENT ON COLUMN worldwise_by_dimension.n_unscored IS 'Number of answers that could not be scored.';
