-- Every configuration has the shipped names; those of a pack are in configurations run with it. The key of a shipped
-- dimension may begin with its framework, because two frameworks may share a name. A pack's dimension has a label
-- made from its key.
CREATE OR REPLACE VIEW worldwise_label AS
WITH configuration AS (
    SELECT DISTINCT config_hash FROM run WHERE evaluation = 'worldwise'
), shipped AS (
    SELECT 1 AS kind_place, rowid AS line, 'value' AS kind, value AS key, label FROM guiding_value
    UNION ALL
    SELECT 2, rowid, 'dimension', dimension, label FROM dimension
    UNION ALL
    SELECT 3, rowid, 'dimension', framework || '_' || dimension, label FROM dimension
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'worldwise'
), added AS (
    SELECT config_hash, 1 AS kind_place, 'value' AS kind, content->>'value' AS key, content->>'label' AS label,
        min(position) AS line
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'guiding_value'
    GROUP BY ALL
    UNION ALL
    SELECT config_hash, 2, 'dimension', content->>'dimension' AS key,
        upper(left(key, 1)) || replace(substr(key, 2), '_', ' '), min(position)
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'exemplar'
    GROUP BY ALL
), named AS (
    SELECT config_hash, kind_place, 0 AS is_added, line, kind, key, label FROM configuration CROSS JOIN shipped
    UNION ALL
    SELECT config_hash, kind_place, 1, line, kind, key, label FROM added
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY kind_place, is_added, line, key) AS place, kind, key, label
FROM named;

COMMENT ON VIEW worldwise_label IS 'Names of the values and dimensions of each configuration: the shipped ones and those of its packs.';
COMMENT ON COLUMN worldwise_label.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN worldwise_label.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN worldwise_label.kind IS 'value or dimension.';
COMMENT ON COLUMN worldwise_label.key IS 'guiding_value.value; dimension.dimension, with or without its framework before it; or one of a pack.';
COMMENT ON COLUMN worldwise_label.label IS 'Name to show.';

CREATE OR REPLACE VIEW worldwise_doubt AS
SELECT run_id, 'alignment' AS metric, 'not shown to beat its best null' AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'worldwise' AND NOT r.is_null AND v.metric = 'alignment_gain' AND v.slice_kind = 'overall'
    AND NOT coalesce(v.ci_low > 0, false);

COMMENT ON VIEW worldwise_doubt IS 'Rows that worldwise adds to the view doubt: alignment whose paired alignment_gain is not shown to be above 0.';
COMMENT ON COLUMN worldwise_doubt.metric IS 'Headline: metric.metric.';

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

CREATE OR REPLACE VIEW worldwise_values AS
SELECT r.config_hash, r.profile, r.model, split_part(v.slice, ':', 1) AS culture,
    coalesce(g.key, split_part(v.slice, ':', 2)) AS value,
    coalesce(g.label, split_part(v.slice, ':', 2)) AS label,
    v.value AS share, v.ci_low, v.ci_high, v.null_value AS baseline_share, v.value - v.null_value AS shift,
    round(v.value * v.n_scored)::BIGINT AS times,
    CASE WHEN v.value IS NOT NULL THEN rank() OVER (
        PARTITION BY run_id, split_part(v.slice, ':', 1) ORDER BY v.value DESC NULLS LAST
    ) END AS rank,
    v.unscored_reason, run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN worldwise_label AS g
    ON g.config_hash = r.config_hash AND g.kind = 'value' AND split_part(v.slice, ':', 2) IN (g.key, g.label)
WHERE r.evaluation = 'worldwise' AND v.metric = 'value_share' AND v.slice_kind = 'culture_value';

COMMENT ON VIEW worldwise_values IS 'Values that a model names, by culture, and their difference from its answers without a persona.';
COMMENT ON COLUMN worldwise_values.culture IS 'Culture of the persona: country.country, or baseline: no persona.';
COMMENT ON COLUMN worldwise_values.value IS 'Value: guiding_value.value, or one of a pack.';
COMMENT ON COLUMN worldwise_values.label IS 'Name of the value, as models see it.';
COMMENT ON COLUMN worldwise_values.share IS 'Share of all values that were named, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN worldwise_values.ci_low IS 'Lower end of the 95 % interval of share, over scenarios.';
COMMENT ON COLUMN worldwise_values.ci_high IS 'Upper end of the 95 % interval of share.';
COMMENT ON COLUMN worldwise_values.baseline_share IS 'Share among the values named without a persona.';
COMMENT ON COLUMN worldwise_values.shift IS 'share minus baseline_share, -1 to 1; times 100: percentage points.';
COMMENT ON COLUMN worldwise_values.times IS 'Number of times that the value was named: share times the number of values named.';
COMMENT ON COLUMN worldwise_values.rank IS 'Place among the culture''s values, from 1; ties share a place.';
COMMENT ON COLUMN worldwise_values.unscored_reason IS 'Why there is no share; NULL if there is one.';

-- Scenarios of a user's own file are left out: their names may equal those of others.
CREATE OR REPLACE VIEW worldwise_scenario AS
WITH asked AS (
    SELECT DISTINCT r.config_hash, v.slice AS scenario
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'worldwise' AND v.slice_kind = 'scenario' AND (r.params->>'scenarios_file') IS NULL
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'worldwise'
), known AS (
    SELECT NULL AS config_hash, rowid AS line, scenario, dimension, category, region FROM scenario
    UNION ALL
    SELECT of_pack.config_hash, position, content->>'scenario', content->>'dimension', content->>'category',
        coalesce(nullif(content->>'region', ''), 'none')
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'scenario'
)
SELECT a.config_hash,
    row_number() OVER (
        PARTITION BY a.config_hash ORDER BY k.config_hash IS NOT NULL, k.line, scenario
    ) AS place,
    scenario, k.dimension, k.category, k.region
FROM asked AS a
JOIN known AS k USING (scenario)
WHERE k.config_hash IS NULL OR k.config_hash = a.config_hash;

COMMENT ON VIEW worldwise_scenario IS 'Subject of each scenario of a configuration: its shipped scenarios and those of its packs.';
COMMENT ON COLUMN worldwise_scenario.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN worldwise_scenario.place IS 'Order in the configuration, from 1: shipped ones, then those of packs.';
COMMENT ON COLUMN worldwise_scenario.scenario IS 'Scenario: scenario.scenario, or one of a pack.';
COMMENT ON COLUMN worldwise_scenario.dimension IS 'Primary dimension of the scenario: dimension.dimension, or one of a pack.';
COMMENT ON COLUMN worldwise_scenario.category IS 'Subject, such as work or family.';
COMMENT ON COLUMN worldwise_scenario.region IS 'Region where it is set; none: nowhere in particular.';
