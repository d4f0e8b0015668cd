CREATE OR REPLACE VIEW leaderboard_fmlama AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null,
        split_part(v.slice, ':', 1) AS main_language, split_part(v.slice, ':', 2) AS subject_language,
        split_part(v.slice, ':', 3) = 'yes' AS country_mentioned,
        any_value(v.value) FILTER (v.metric = 'map') AS map,
        any_value(v.ci_low) FILTER (v.metric = 'map') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'map') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'map_sd') AS map_sd,
        any_value(v.null_value) FILTER (v.metric = 'map') AS null_map,
        any_value(v.n_scored) FILTER (v.metric = 'map') AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric = 'map') AS n_unscored,
        any_value(v.value) FILTER (v.metric = 'map_gain') AS map_gain,
        any_value(v.ci_low) FILTER (v.metric = 'map_gain') AS gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'map_gain') AS gain_high,
        any_value(v.value) FILTER (v.metric = 'mws') AS mws,
        any_value(v.null_value) FILTER (v.metric = 'mws') AS null_mws,
        any_value(v.value) FILTER (v.metric = 'map_cv') AS map_cv,
        any_value(v.value) FILTER (v.metric = 'country_gain') AS country_gain,
        any_value(v.value) FILTER (v.metric = 'country_gain_p') AS country_gain_p,
        any_value(v.value) FILTER (v.metric = 'mes') AS mes,
        any_value(v.null_value) FILTER (v.metric = 'mes') AS null_mes,
        any_value(v.n_scored / nullif(v.n_scored + v.n_unscored, 0)) FILTER (v.metric = 'map') AS coverage,
        any_value(v.value) FILTER (v.metric = 'unspellable_candidates') AS unspellable,
        any_value(v.ci_low) FILTER (v.metric = 'mws') AS mws_low,
        any_value(v.ci_high) FILTER (v.metric = 'mws') AS mws_high,
        any_value(v.n_scored) FILTER (v.metric = 'mws') AS mws_n,
        r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'fmlama' AND v.slice_kind = 'condition'
    GROUP BY ALL
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY main_language, subject_language, country_mentioned, is_null, map DESC NULLS LAST, model
    ) AS place,
    * EXCLUDE (config_hash)
FROM wide
ORDER BY max(finished_at) OVER (PARTITION BY config_hash) DESC, config_hash, place;

COMMENT ON VIEW leaderboard_fmlama IS 'One row per configuration, model, languages and country_mentioned: newest configuration first; within each, models by mAP, then baselines. Compare only within one config_hash and one pair of languages, since other candidates make a different task.';
COMMENT ON COLUMN leaderboard_fmlama.place IS 'Order in the configuration, from 1: by languages and country_mentioned; within each, models by mAP, then baselines.';
COMMENT ON COLUMN leaderboard_fmlama.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN leaderboard_fmlama.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN leaderboard_fmlama.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN leaderboard_fmlama.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN leaderboard_fmlama.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.map_sd IS 'Standard deviation of map over templates.';
COMMENT ON COLUMN leaderboard_fmlama.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN leaderboard_fmlama.n_scored IS 'Number of pairs of dish and wording from which map is computed.';
COMMENT ON COLUMN leaderboard_fmlama.n_unscored IS 'Number of pairs that could not be scored.';
COMMENT ON COLUMN leaderboard_fmlama.map_gain IS 'map minus the map of the best baseline: chance, or the most common ingredients.';
COMMENT ON COLUMN leaderboard_fmlama.gain_low IS 'Lower end of the 95 % interval of map_gain. Above 0: the model scores more than naming common ingredients.';
COMMENT ON COLUMN leaderboard_fmlama.gain_high IS 'Upper end of the 95 % interval of map_gain.';
COMMENT ON COLUMN leaderboard_fmlama.mws IS 'Mean word similarity, -1 to 1; NULL if unscored.';
COMMENT ON COLUMN leaderboard_fmlama.null_mws IS 'mws of random predictions.';
COMMENT ON COLUMN leaderboard_fmlama.map_cv IS 'Unevenness of map over origins: standard deviation divided by mean.';
COMMENT ON COLUMN leaderboard_fmlama.country_gain IS 'Gain in map from naming the country.';
COMMENT ON COLUMN leaderboard_fmlama.country_gain_p IS 'p-value of country_gain (Wilcoxon).';
COMMENT ON COLUMN leaderboard_fmlama.mes IS 'Share of top predictions that the judge marks Correct; NULL without a judge.';
COMMENT ON COLUMN leaderboard_fmlama.null_mes IS 'mes, by the same judge, of null:common-of-origin, which names the most common ingredients of the origin.';
COMMENT ON COLUMN leaderboard_fmlama.coverage IS 'Share of the pairs of dish and wording that could be scored for map, 0 to 1.';
COMMENT ON COLUMN leaderboard_fmlama.unspellable IS 'Number of candidates that the model cannot spell.';
COMMENT ON COLUMN leaderboard_fmlama.mws_low IS 'Lower end of the 95 % interval of mws, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.mws_high IS 'Upper end of the 95 % interval of mws, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.mws_n IS 'Number of pairs of dish and wording from which mws is computed.';
