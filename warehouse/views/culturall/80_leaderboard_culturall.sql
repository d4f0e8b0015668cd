CREATE OR REPLACE VIEW leaderboard_culturall AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at,
        any_value(v.value) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS accuracy,
        any_value(v.ci_low) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS ci_high,
        any_value(v.null_value) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS null_value,
        any_value(v.value) FILTER (v.metric = 'accuracy_matched' AND v.slice_kind = 'overall') AS accuracy_matched,
        any_value(v.value) FILTER (v.metric = 'accuracy_question' AND v.slice_kind = 'overall') AS accuracy_question,
        any_value(v.value) FILTER (v.metric = 'accuracy_english' AND v.slice_kind = 'overall') AS accuracy_english,
        any_value(v.value) FILTER (v.metric = 'english_gain' AND v.slice_kind = 'overall') AS english_gain,
        any_value(v.ci_low) FILTER (v.metric = 'english_gain' AND v.slice_kind = 'overall') AS english_gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'english_gain' AND v.slice_kind = 'overall') AS english_gain_high,
        any_value(v.value) FILTER (v.metric = 'scenario_gain' AND v.slice_kind = 'overall') AS scenario_gain,
        any_value(v.ci_low) FILTER (v.metric = 'scenario_gain' AND v.slice_kind = 'overall') AS scenario_gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'scenario_gain' AND v.slice_kind = 'overall') AS scenario_gain_high,
        any_value(v.value) FILTER (v.slice_kind = 'difficulty' AND v.slice = 'easy') AS easy,
        any_value(v.value) FILTER (v.slice_kind = 'difficulty' AND v.slice = 'medium') AS medium,
        any_value(v.value) FILTER (v.slice_kind = 'difficulty' AND v.slice = 'hard') AS hard,
        any_value(v.value) FILTER (v.metric = 'judge_match_agreement' AND v.slice_kind = 'overall') AS judge_match_agreement,
        any_value(v.value) FILTER (v.metric = 'judge_gold_accepted' AND v.slice_kind = 'overall') AS judge_gold_accepted,
        any_value(v.value) FILTER (v.metric = 'judge_shuffled_refused' AND v.slice_kind = 'overall') AS judge_shuffled_refused,
        min(v.value) FILTER (
            v.metric IN ('judge_gold_accepted', 'judge_shuffled_refused') AND v.slice_kind IN ('overall', 'language')
        ) < 0.9 AS judge_flagged,
        any_value(v.value) FILTER (v.metric = 'coverage') AS coverage,
        any_value(v.n_scored) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS n_scored,
        any_value(v.n_scored + v.n_unscored) FILTER (v.metric = 'accuracy' AND v.slice_kind = 'overall') AS n_items
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'culturall'
    GROUP BY ALL
)
SELECT wide.config_hash,
    row_number() OVER (
        PARTITION BY wide.config_hash ORDER BY wide.is_null, wide.accuracy DESC NULLS LAST, wide.model
    ) AS place,
    wide.* EXCLUDE (config_hash, run_id, finished_at, is_null), wide.run_id, wide.finished_at, wide.is_null
FROM wide
ORDER BY max(wide.finished_at) OVER (PARTITION BY wide.config_hash) DESC, wide.config_hash, place;
