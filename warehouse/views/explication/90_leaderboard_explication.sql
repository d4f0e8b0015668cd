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
