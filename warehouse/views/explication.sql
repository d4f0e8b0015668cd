-- APR has a paired test against shuffled recommendations. INT has to exceed the sides of both intervals combined, as
-- for independent numbers (Zou and Donner 2008).
CREATE OR REPLACE VIEW explication_doubt AS
SELECT run_id, 'apr' AS metric,
    if(v.value IS NULL, 'too few personas for the judges'' check',
        'not shown to beat another persona''s recommendation') AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'explication' AND NOT r.is_null AND v.metric = 'tells_real_from_shuffled'
    AND v.slice_kind = 'overall' AND v.value IS DISTINCT FROM 1
UNION ALL
SELECT own.run_id, own.metric, format('null:{} scores {:.2f}, not clearly less', n.slice, n.value)
FROM run AS r
JOIN metric_value AS own ON own.run_id = r.run_id AND own.metric = 'interaction' AND own.slice_kind = 'overall'
JOIN metric_value AS n ON n.run_id = r.run_id AND n.metric = 'interaction' AND n.slice_kind = 'null'
WHERE r.evaluation = 'explication' AND NOT r.is_null
    AND own.value - n.value <= sqrt((own.value - own.ci_low) ** 2 + (coalesce(n.ci_high, n.value) - n.value) ** 2);

COMMENT ON VIEW explication_doubt IS 'Rows that explication adds to the view doubt: judges that do not distinguish a recommendation from another persona''s, and null conversations whose questions are graded as high.';
COMMENT ON COLUMN explication_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW leaderboard_explication AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, CASE v.slice_kind WHEN 'condition' THEN v.slice ELSE '' END AS condition,
        v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'explication'
        AND ((v.slice_kind = 'condition' AND NOT r.is_null) OR (v.slice_kind = 'overall' AND r.is_null))
), wide AS (
    SELECT config_hash, profile, model, is_null, condition,
        any_value(value) FILTER (metric = 'apr') AS apr,
        any_value(ci_low) FILTER (metric = 'apr') AS apr_low,
        any_value(ci_high) FILTER (metric = 'apr') AS apr_high,
        any_value(null_value) FILTER (metric = 'apr') AS apr_null,
        any_value(value) FILTER (metric = 'apr_if_left_failed') AS apr_if_left_failed,
        any_value(value) FILTER (metric = 'interaction') AS interaction,
        any_value(ci_low) FILTER (metric = 'interaction') AS interaction_low,
        any_value(ci_high) FILTER (metric = 'interaction') AS interaction_high,
        any_value(null_value) FILTER (metric = 'interaction') AS interaction_null,
        any_value(value) FILTER (metric = 'instruction_following') AS instruction_following,
        any_value(ci_low) FILTER (metric = 'instruction_following') AS instruction_low,
        any_value(ci_high) FILTER (metric = 'instruction_following') AS instruction_high,
        any_value(value) FILTER (metric = 'apr_gain') AS apr_gain,
        any_value(ci_low) FILTER (metric = 'apr_gain') AS gain_low,
        any_value(ci_high) FILTER (metric = 'apr_gain') AS gain_high,
        any_value(value) FILTER (metric = 'questions') AS questions,
        any_value(value) FILTER (metric = 'facts_elicited') AS facts_elicited,
        any_value(ci_low) FILTER (metric = 'facts_elicited') AS elicited_low,
        any_value(ci_high) FILTER (metric = 'facts_elicited') AS elicited_high,
        any_value(value) FILTER (metric = 'facts_used') AS facts_used,
        any_value(value) FILTER (metric = 'violated') AS violated,
        any_value(value) FILTER (metric = 'recommended') AS recommended,
        any_value(value) FILTER (metric = 'cut_short') AS cut_short,
        max(n_scored + n_unscored) FILTER (metric = 'apr') AS n_conversations,
        any_value(n_scored) FILTER (metric = 'apr') AS n_judged,
        run_id, finished_at
    FROM part
    GROUP BY ALL
), flag AS (
    SELECT run_id, bool_or(value = 1) FILTER (metric = 'tells_real_from_shuffled') AS tells_real_from_shuffled,
        bool_or(value = 1) FILTER (metric = 'self_preference_warning') AS self_preference
    FROM metric_value
    WHERE slice_kind = 'overall' AND metric IN ('tells_real_from_shuffled', 'self_preference_warning')
    GROUP BY run_id
), effect AS (
    SELECT run_id, any_value(value) FILTER (metric = 'treatment_effect') AS treatment_effect,
        any_value(value) FILTER (metric = 'treatment_p_holm') AS treatment_p_holm
    FROM metric_value
    WHERE slice_kind = 'metric' AND slice = 'apr'
    GROUP BY run_id
)
SELECT wide.config_hash,
    row_number() OVER (
        PARTITION BY wide.config_hash
        ORDER BY wide.is_null, wide.condition, flag.tells_real_from_shuffled DESC NULLS LAST, wide.apr DESC NULLS LAST, wide.model
    ) AS place,
    wide.* EXCLUDE (config_hash, run_id, finished_at, is_null), flag.tells_real_from_shuffled, flag.self_preference,
    effect.treatment_effect, effect.treatment_p_holm, wide.run_id, wide.finished_at, wide.is_null
FROM wide
LEFT JOIN flag USING (run_id)
LEFT JOIN effect USING (run_id);

COMMENT ON VIEW leaderboard_explication IS 'One row per model and condition; null recommenders last. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_explication.place IS 'Order in the configuration, from 1: control, then treatment; within each, models whose recommendations the judges distinguish from shuffled ones, by APR, then the other models; null recommenders last.';
COMMENT ON COLUMN leaderboard_explication.model IS 'Model; null:generic gives everybody the same recommendation at once, null:fixed after the same fixed questions.';
COMMENT ON COLUMN leaderboard_explication.condition IS 'control, or treatment: the model was reminded that preferences are individual; empty for null recommenders.';
COMMENT ON COLUMN leaderboard_explication.apr IS 'Appropriateness, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN leaderboard_explication.apr_low IS 'Lower end of the 95 % interval of apr, over personas.';
COMMENT ON COLUMN leaderboard_explication.apr_high IS 'Upper end of the 95 % interval of apr, over personas.';
COMMENT ON COLUMN leaderboard_explication.apr_null IS 'Grade of the best null conversation by the same judges: another persona''s recommendation, a silent user, a generic recommendation at once, or one after fixed questions.';
COMMENT ON COLUMN leaderboard_explication.apr_if_left_failed IS 'APR if a conversation that the user left without a recommendation counted with the worst grade; such a conversation is not in apr. NULL for older runs.';
COMMENT ON COLUMN leaderboard_explication.interaction IS 'Quality of the questions to the user, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN leaderboard_explication.interaction_low IS 'Lower end of the 95 % interval of interaction, over personas.';
COMMENT ON COLUMN leaderboard_explication.interaction_high IS 'Upper end of the 95 % interval of interaction, over personas.';
COMMENT ON COLUMN leaderboard_explication.interaction_null IS 'Grade of the better null conversation by the same judges: a generic recommendation at once, or one after fixed questions.';
COMMENT ON COLUMN leaderboard_explication.instruction_following IS 'Instruction following, 1 to 5, by the judges; NULL if unscored.';
COMMENT ON COLUMN leaderboard_explication.instruction_low IS 'Lower end of the 95 % interval of instruction_following, over personas.';
COMMENT ON COLUMN leaderboard_explication.instruction_high IS 'Upper end of the 95 % interval of instruction_following, over personas.';
COMMENT ON COLUMN leaderboard_explication.apr_gain IS 'APR minus the APR of the same conversation with another persona''s recommendation.';
COMMENT ON COLUMN leaderboard_explication.gain_low IS 'Lower end of the 95 % interval of apr_gain, over personas.';
COMMENT ON COLUMN leaderboard_explication.gain_high IS 'Upper end of the 95 % interval of apr_gain, over personas.';
COMMENT ON COLUMN leaderboard_explication.questions IS 'Mean number of questions in a conversation.';
COMMENT ON COLUMN leaderboard_explication.facts_elicited IS 'Share of the persona''s facts told after a question about them.';
COMMENT ON COLUMN leaderboard_explication.elicited_low IS 'Lower end of the 95 % interval of instruction_following, over personas.';
COMMENT ON COLUMN leaderboard_explication.elicited_high IS 'Upper end of the 95 % interval of instruction_following, over personas.';
COMMENT ON COLUMN leaderboard_explication.facts_used IS 'Share of facts that the recommendation takes into account.';
COMMENT ON COLUMN leaderboard_explication.violated IS 'Share of decidable constraints that were violated.';
COMMENT ON COLUMN leaderboard_explication.recommended IS 'Share of conversations that end with a recommendation, among those that were not cut short.';
COMMENT ON COLUMN leaderboard_explication.cut_short IS 'Share of conversations ended by a limit or by an empty turn of the simulated user: they have no grades. NULL for older runs.';
COMMENT ON COLUMN leaderboard_explication.n_conversations IS 'Number of conversations of the condition; for null recommenders, of all conditions.';
COMMENT ON COLUMN leaderboard_explication.n_judged IS 'Number of these conversations with an APR.';
COMMENT ON COLUMN leaderboard_explication.tells_real_from_shuffled IS 'Whether the judges distinguish the model''s recommendations from shuffled ones (both conditions); NULL for fewer than six personas. If not, APR is no evidence of attention to the user.';
COMMENT ON COLUMN leaderboard_explication.self_preference IS 'Whether a judge and the model are of one model family.';
COMMENT ON COLUMN leaderboard_explication.treatment_effect IS 'APR in treatment minus control, paired; NULL if unscored.';
COMMENT ON COLUMN leaderboard_explication.treatment_p_holm IS 'Two-sided p of treatment_effect on APR, which is tested alone; NULL for fewer than six personas.';
COMMENT ON COLUMN leaderboard_explication.is_null IS 'Whether the row is of a null recommender, not of a model.';

CREATE OR REPLACE VIEW explication_by_persona AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, split_part(v.slice, ':', 1) AS persona, split_part(v.slice, ':', 2) AS condition,
        v.metric, v.value, v.n_scored, v.n_unscored, v.null_value, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'explication' AND v.slice_kind = 'persona_condition'
), wide AS (
    SELECT config_hash, profile, model, persona, condition,
        any_value(value) FILTER (metric = 'apr') AS apr,
        any_value(null_value) FILTER (metric = 'apr') AS apr_null,
        any_value(value) FILTER (metric = 'interaction') AS interaction,
        any_value(value) FILTER (metric = 'instruction_following') AS instruction_following,
        any_value(value) FILTER (metric = 'facts_elicited') AS facts_elicited,
        any_value(value) FILTER (metric = 'facts_used') AS facts_used,
        any_value(value) FILTER (metric = 'violated') AS violated,
        max(n_scored + n_unscored) AS n_conversations, max(n_scored) FILTER (metric = 'apr') AS n_judged, run_id, finished_at
    FROM part
    GROUP BY ALL
)
SELECT wide.config_hash,
    row_number() OVER (PARTITION BY wide.config_hash ORDER BY wide.persona, wide.condition, wide.model) AS place,
    wide.* EXCLUDE (config_hash, run_id, finished_at), p.name AS persona_name, p.country, c.name AS country_name, p.cuisine,
    wide.run_id, wide.finished_at
FROM wide
LEFT JOIN explication_persona AS p USING (persona)
LEFT JOIN country AS c ON c.country = p.country;

COMMENT ON VIEW explication_by_persona IS 'The leaderboard''s numbers persona by persona: means over repetitions and tasks. Few conversations each.';
COMMENT ON COLUMN explication_by_persona.model IS 'Model; null recommenders are only on the leaderboard.';
COMMENT ON COLUMN explication_by_persona.interaction IS 'Quality of the questions to the user, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.instruction_following IS 'Instruction following, 1 to 5, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.facts_elicited IS 'Share of the persona''s facts told after a question about them.';
COMMENT ON COLUMN explication_by_persona.facts_used IS 'Share of facts that the recommendation takes into account.';
COMMENT ON COLUMN explication_by_persona.violated IS 'Share of decidable constraints that were violated.';
COMMENT ON COLUMN explication_by_persona.n_conversations IS 'Number of conversations of the persona under the condition.';
COMMENT ON COLUMN explication_by_persona.n_judged IS 'Number of these conversations with an APR.';
COMMENT ON COLUMN explication_by_persona.apr IS 'Appropriateness, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.apr_null IS 'Grade of the best null conversation by the same judges: another persona''s recommendation, a silent user, a generic recommendation at once, or one after fixed questions.';
COMMENT ON COLUMN explication_by_persona.place IS 'Order: by persona, condition and model.';
COMMENT ON COLUMN explication_by_persona.persona IS 'Persona: explication_persona.persona, or one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.condition IS 'control or treatment.';
COMMENT ON COLUMN explication_by_persona.persona_name IS 'The persona''s name; NULL for one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.country IS 'Country of the persona; NULL for one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.country_name IS 'Name of that country.';
COMMENT ON COLUMN explication_by_persona.cuisine IS 'Cuisine that the persona grew up with; NULL for one of the user''s own.';

CREATE OR REPLACE VIEW meta_explication AS
WITH own AS (
    SELECT r.config_hash, r.model_hash, v.slice AS condition, v.metric, v.value
    FROM model_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'explication' AND v.slice_kind = 'condition' AND v.value IS NOT NULL
        AND v.metric IN ('apr', 'interaction', 'instruction_following', 'facts_elicited')
), other AS (
    SELECT r.evaluation, NULL AS config_hash, v.metric, v.slice_kind, v.slice, r.model_hash, v.value
    FROM shown_run AS r
    JOIN metric_value AS v USING (run_id)
    JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
    WHERE v.value IS NOT NULL AND r.evaluation <> 'explication'
        AND (v.slice_kind = 'overall' AND (m.is_headline OR v.metric = 'macro_f1')
            OR (r.evaluation = 'cure' AND v.slice_kind = 'benchmark_mode' AND m.is_headline))
    UNION ALL
    SELECT 'explication' AS evaluation, config_hash, metric, 'condition' AS slice_kind, condition AS slice, model_hash, value
    FROM own
    WHERE metric = 'instruction_following'
    UNION ALL
    -- Places are negated, so that more is better here too.
    SELECT 'external', NULL, benchmark, 'overall', 'all', model_hash, -min(place)
    FROM external_ranking
    WHERE model_hash IS NOT NULL
    GROUP BY benchmark, model_hash
), pair AS (
    SELECT own.config_hash, own.condition, own.metric, other.evaluation AS other_evaluation, other.metric AS other_metric,
        other.slice AS other_slice, own.model_hash, own.value AS value, other.value AS other_value,
        rank() OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice ORDER BY own.value) + (count(*) OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice, own.value) - 1) / 2.0 AS own_rank,
        rank() OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice ORDER BY other.value) + (count(*) OVER (PARTITION BY own.config_hash, own.condition, own.metric, other.evaluation, other.metric, other.slice, other.value) - 1) / 2.0 AS other_rank
    FROM own
    JOIN other ON other.model_hash = own.model_hash AND coalesce(other.config_hash, own.config_hash) = own.config_hash
        AND NOT (other.evaluation = 'explication' AND (other.metric = own.metric OR other.slice <> own.condition))
)
-- Correlations are rounded, because sums in another order differ in the last digits: full agreement is exactly 1.
SELECT config_hash, condition, metric, other_evaluation, other_metric, other_slice, count(*) AS n_models,
    CASE WHEN count(*) > 2 AND stddev_pop(value) > 0 AND stddev_pop(other_value) > 0 THEN round(corr(value, other_value), 12) END AS pearson,
    CASE WHEN count(*) > 2 AND stddev_pop(value) > 0 AND stddev_pop(other_value) > 0 THEN round(corr(own_rank, other_rank), 12) END AS spearman,
    list(model_hash ORDER BY model_hash) AS model_hashes, list(value ORDER BY model_hash) AS own_values,
    list(other_value ORDER BY model_hash) AS other_values,
    row_number() OVER (PARTITION BY config_hash ORDER BY other_evaluation, other_metric, other_slice, metric, condition) AS place
FROM pair
GROUP BY config_hash, condition, metric, other_evaluation, other_metric, other_slice;

COMMENT ON VIEW meta_explication IS 'Relation of explication to knowledge: correlations over models with the other evaluations'' headline numbers, in the configuration that pages show (shown_run), and with external rankings. culturemeter ranking --explication shows intervals, tests and differences.';
COMMENT ON COLUMN meta_explication.config_hash IS 'Configuration of the explication runs.';
COMMENT ON COLUMN meta_explication.condition IS 'control or treatment.';
COMMENT ON COLUMN meta_explication.metric IS 'Number of explication.';
COMMENT ON COLUMN meta_explication.other_evaluation IS 'Evaluation of the other number; explication itself for instruction following, "external" for a ranking of external_ranking.';
COMMENT ON COLUMN meta_explication.other_metric IS 'Metric of that evaluation, or benchmark of the external ranking.';
COMMENT ON COLUMN meta_explication.other_slice IS 'Slice of that metric, such as normad:thin.';
COMMENT ON COLUMN meta_explication.n_models IS 'Number of models that have both numbers: read it before the correlation. The paper has six models.';
COMMENT ON COLUMN meta_explication.pearson IS 'Pearson''s r over models; NULL for fewer than three, or if a number does not vary.';
COMMENT ON COLUMN meta_explication.spearman IS 'Spearman''s rho over models, ties share their mean rank; NULL if pearson is NULL.';
COMMENT ON COLUMN meta_explication.model_hashes IS 'These models (run.model_hash); own_values and other_values have the same order.';
COMMENT ON COLUMN meta_explication.own_values IS 'Explication numbers of these models, in the order of model_hashes.';
COMMENT ON COLUMN meta_explication.other_values IS 'Other numbers of these models, in the order of model_hashes; for a ranking the negative place, so that more is better.';
COMMENT ON COLUMN meta_explication.place IS 'Order of the rows.';

CREATE OR REPLACE VIEW explication_transcript AS
WITH held AS (
    SELECT c.*, coalesce(c.disagreement, CASE WHEN c.violations IS NOT NULL THEN c.apr END) AS dispute
    FROM explication_conversation AS c
    JOIN latest_run AS r ON r.run_id = c.run_id AND r.config_hash = c.config_hash
), picked AS (
    SELECT 'best' AS why, * FROM held WHERE apr IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY apr + coalesce(interaction, 1) DESC, task, persona, condition, repetition
    ) = 1
    UNION ALL
    SELECT 'worst' AS why, * FROM held WHERE apr IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY apr + coalesce(interaction, 1), task, persona, condition, repetition
    ) = 1
    UNION ALL
    SELECT 'most disputed' AS why, * FROM held WHERE dispute IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY dispute DESC, task, persona, condition, repetition
    ) = 1
    UNION ALL
    -- Without judges, the first conversation.
    SELECT 'first' AS why, * FROM held
    QUALIFY bool_and(apr IS NULL) OVER (PARTITION BY config_hash, model)
        AND row_number() OVER (PARTITION BY config_hash, model ORDER BY task, persona, condition, repetition) = 1
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY model, list_position(['best', 'worst', 'most disputed', 'first'], why)
    ) AS place,
    model, why, task, persona, persona_name, country, cuisine, condition, repetition, transcript, ended_by, title, violations,
    undecided, facts_told, n_facts, n_elicited, apr, interaction, instruction_following, apr_shuffled, disagreement
FROM picked;

COMMENT ON VIEW explication_transcript IS 'Conversations to read: the best, the worst and the most disputed of each model. explication_conversation has all.';
COMMENT ON COLUMN explication_transcript.config_hash IS 'Configuration.';
COMMENT ON COLUMN explication_transcript.place IS 'Order of the rows.';
COMMENT ON COLUMN explication_transcript.model IS 'Model that recommended.';
COMMENT ON COLUMN explication_transcript.why IS 'best, worst: by APR and INT. most disputed: by the judges'' disagreement; with one judge, the highest APR of a recommendation that violates a constraint. first: if there are no judges.';
COMMENT ON COLUMN explication_transcript.task IS 'Thing to recommend.';
COMMENT ON COLUMN explication_transcript.persona IS 'Persona that was simulated.';
COMMENT ON COLUMN explication_transcript.persona_name IS 'The persona''s name.';
COMMENT ON COLUMN explication_transcript.country IS 'Country of the persona.';
COMMENT ON COLUMN explication_transcript.cuisine IS 'Cuisine that the persona grew up with.';
COMMENT ON COLUMN explication_transcript.condition IS 'control or treatment.';
COMMENT ON COLUMN explication_transcript.repetition IS 'Number of the repetition, from 0.';
COMMENT ON COLUMN explication_transcript.transcript IS 'Turns of the conversation as both sides received them, separated by blank lines.';
COMMENT ON COLUMN explication_transcript.ended_by IS 'Reason for the end of the conversation.';
COMMENT ON COLUMN explication_transcript.title IS 'Name of what was recommended; NULL if nothing was.';
COMMENT ON COLUMN explication_transcript.violations IS 'Constraints that were violated; NULL if none.';
COMMENT ON COLUMN explication_transcript.undecided IS 'Constraints that could not be decided; NULL if none.';
COMMENT ON COLUMN explication_transcript.facts_told IS 'Facts that the user told; NULL if none.';
COMMENT ON COLUMN explication_transcript.n_facts IS 'Number of facts that a question can elicit.';
COMMENT ON COLUMN explication_transcript.n_elicited IS 'Number of these facts that the user told after a question about them.';
COMMENT ON COLUMN explication_transcript.apr IS 'Appropriateness, 1 to 10; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.interaction IS 'Quality of the questions to the user, 1 to 10; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.instruction_following IS '1 to 5; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.apr_shuffled IS 'Appropriateness with another persona''s recommendation; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.disagreement IS 'Standard deviation of the judges'' appropriateness; NULL for fewer than two.';

CREATE OR REPLACE VIEW explication_people AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY study, list_position(['persona', 'apr', 'interaction'], dimension),
            list_position(['mean', 'krippendorff_alpha_ordinal', 'order_effect', 'misaligned', 'opposite', 'tied', 'cohen_kappa', 'spearman_models'], metric)
    ) AS place,
    study, dimension, metric, value, unscored_reason, ci_low, ci_high, null_value, n, n_unscored, pulled_at
FROM conversation_validation;

COMMENT ON VIEW explication_people IS 'People''s ratings of a configuration''s conversations, and the rank agreement of its judges with them.';
COMMENT ON COLUMN explication_people.config_hash IS 'Configuration.';
COMMENT ON COLUMN explication_people.place IS 'Order of the rows.';
COMMENT ON COLUMN explication_people.dimension IS 'persona: how well the simulated user plays the persona. apr and interaction: like the judges'' grades.';
COMMENT ON COLUMN explication_people.metric IS 'See conversation_validation.metric.';
COMMENT ON COLUMN explication_people.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN explication_people.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN explication_people.ci_low IS 'Lower end of the 95 % interval, over personas; NULL if there is none.';
COMMENT ON COLUMN explication_people.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN explication_people.null_value IS 'Score of judges that know nothing; NULL for numbers without judges.';
COMMENT ON COLUMN explication_people.n IS 'Number of points: ratings, conversations, pairs or models.';
COMMENT ON COLUMN explication_people.n_unscored IS 'Number of ratings that could not be used.';
COMMENT ON COLUMN explication_people.pulled_at IS 'When the study was last pulled (UTC).';
