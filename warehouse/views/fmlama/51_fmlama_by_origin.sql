CREATE OR REPLACE VIEW fmlama_by_origin AS
SELECT r.config_hash, r.profile, r.model, r.is_null,
    split_part(v.slice, ':', 1) AS main_language, split_part(v.slice, ':', 2) AS subject_language,
    split_part(v.slice, ':', 3) = 'yes' AS country_mentioned,
    split_part(v.slice, ':', 4) AS origin,
    any_value(v.value) FILTER (v.metric = 'map') AS map,
    any_value(v.ci_low) FILTER (v.metric = 'map') AS ci_low,
    any_value(v.ci_high) FILTER (v.metric = 'map') AS ci_high,
    any_value(v.value) FILTER (v.metric = 'map_sd') AS map_sd,
    any_value(v.null_value) FILTER (v.metric = 'map') AS null_map,
    any_value(v.value) FILTER (v.metric = 'mws') AS mws,
    any_value(v.value) FILTER (v.metric = 'mws_sd') AS mws_sd,
    any_value(v.null_value) FILTER (v.metric = 'mws') AS null_mws,
    any_value(v.value) FILTER (v.metric = 'country_gain') AS country_gain,
    any_value(v.value) FILTER (v.metric = 'country_gain_p') AS country_gain_p,
    any_value(v.value) FILTER (v.metric = 'error_foreign') AS error_foreign,
    any_value(v.value) FILTER (v.metric = 'mes') AS mes,
    any_value(v.n_scored) FILTER (v.metric = 'map') AS n_scored,
    r.run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'fmlama' AND v.slice_kind = 'condition_origin'
GROUP BY ALL;

COMMENT ON VIEW fmlama_by_origin IS 'The leaderboard''s numbers origin by origin.';
COMMENT ON COLUMN fmlama_by_origin.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_by_origin.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_by_origin.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN fmlama_by_origin.origin IS 'Origin, or origin group (table origin_group).';
COMMENT ON COLUMN fmlama_by_origin.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_by_origin.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_by_origin.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_by_origin.map_sd IS 'Standard deviation of map over templates.';
COMMENT ON COLUMN fmlama_by_origin.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN fmlama_by_origin.mws IS 'Mean word similarity, -1 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_by_origin.mws_sd IS 'Standard deviation of mws over templates.';
COMMENT ON COLUMN fmlama_by_origin.null_mws IS 'mws of random predictions.';
COMMENT ON COLUMN fmlama_by_origin.country_gain IS 'Gain in map from naming the country.';
COMMENT ON COLUMN fmlama_by_origin.country_gain_p IS 'Holm-adjusted p of country_gain over the origins (Wilcoxon).';
COMMENT ON COLUMN fmlama_by_origin.error_foreign IS 'Share of foreign ingredients among false predictions.';
COMMENT ON COLUMN fmlama_by_origin.mes IS 'Share of top predictions that the judge marks Correct; NULL without a judge.';
COMMENT ON COLUMN fmlama_by_origin.n_scored IS 'Number of pairs of dish and wording from which map is computed.';
