CREATE OR REPLACE VIEW leaderboard_cure AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        split_part(v.slice, ':', 2) AS detail, v.slice_kind, v.metric, v.value, v.ci_low, v.ci_high,
        v.null_value, v.n_scored, v.n_unscored, r.run_id, r.finished_at,
        v.slice_kind = 'benchmark' AND v.metric IN ('coverage', 'specificity', 'connotation', 'coherence')
            AS is_explanation
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND v.slice_kind IN ('benchmark', 'benchmark_mode', 'null')
), wide AS (
    SELECT config_hash, profile, model, is_null, benchmark,
        any_value(value) FILTER (metric = 'exact_match' AND detail = 'thin') AS thin_em,
        any_value(ci_low) FILTER (metric = 'exact_match' AND detail = 'thin') AS thin_em_low,
        any_value(ci_high) FILTER (metric = 'exact_match' AND detail = 'thin') AS thin_em_high,
        any_value(value) FILTER (metric = 'f1_micro' AND detail = 'thin') AS thin_f1_micro,
        any_value(value) FILTER (metric = 'f1_macro' AND detail = 'thin') AS thin_f1_macro,
        any_value(value) FILTER (metric = 'exact_match' AND detail = 'thick') AS thick_em,
        any_value(ci_low) FILTER (metric = 'exact_match' AND detail = 'thick') AS thick_em_low,
        any_value(ci_high) FILTER (metric = 'exact_match' AND detail = 'thick') AS thick_em_high,
        any_value(value) FILTER (metric = 'f1_micro' AND detail = 'thick') AS thick_f1_micro,
        any_value(value) FILTER (metric = 'f1_macro' AND detail = 'thick') AS thick_f1_macro,
        max(null_value) FILTER (metric = 'exact_match') AS majority_em,
        max(value) FILTER (metric = 'exact_match_prior') AS prior_em,
        any_value(metric) FILTER (is_explanation) AS metric,
        any_value(value) FILTER (is_explanation) AS value,
        any_value(ci_low) FILTER (is_explanation) AS ci_low,
        any_value(ci_high) FILTER (is_explanation) AS ci_high,
        any_value(null_value) FILTER (is_explanation) AS null_value,
        any_value(value) FILTER (slice_kind = 'null' AND detail = 'shuffled') AS null_shuffled,
        any_value(value) FILTER (slice_kind = 'null' AND detail = 'generic') AS null_generic,
        any_value(value) FILTER (slice_kind = 'null' AND detail = 'empty') AS null_empty,
        any_value(value) FILTER (metric = 'explanation_gain') AS explanation_gain,
        any_value(value) FILTER (metric = 'tells_real_from_shuffled') = 1 AS tells_real_from_shuffled,
        any_value(ci_low) FILTER (metric = 'explanation_gain') AS gain_low,
        any_value(ci_high) FILTER (metric = 'explanation_gain') AS gain_high,
        max(n_scored + n_unscored) FILTER (metric = 'exact_match') AS n_items,
        any_value(n_scored) FILTER (metric = 'exact_match' AND detail = 'thin') AS thin_scored,
        any_value(n_scored) FILTER (metric = 'exact_match' AND detail = 'thick') AS thick_scored,
        any_value(n_scored) FILTER (is_explanation) AS n_judged,
        run_id, finished_at
    FROM part
    GROUP BY ALL
), judging AS (
    SELECT config_hash, metric, string_agg(judge, ', ' ORDER BY judge) AS judge,
        string_agg(DISTINCT rubric, ', ' ORDER BY rubric) AS rubric, bool_and(validated) AS validated
    FROM judge_used
    WHERE evaluation = 'cure'
    GROUP BY ALL
), preference AS (
    SELECT run_id, any_value(value) = 1 AS self_preference
    FROM metric_value
    WHERE metric = 'self_preference_warning'
    GROUP BY run_id
)
SELECT wide.config_hash,
    row_number() OVER (
        PARTITION BY wide.config_hash
        ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], wide.benchmark), wide.benchmark, wide.is_null,
            wide.tells_real_from_shuffled DESC NULLS LAST, wide.value DESC NULLS LAST, wide.thick_em DESC NULLS LAST,
            wide.thin_em DESC NULLS LAST, wide.model
    ) AS place,
    wide.* EXCLUDE (config_hash, tells_real_from_shuffled, n_items, thin_scored, thick_scored, n_judged, run_id, finished_at, is_null),
    wide.tells_real_from_shuffled, judging.judge, judging.rubric,
    judging.validated, preference.self_preference, wide.n_items, wide.thin_scored, wide.thick_scored, wide.n_judged,
    wide.run_id, wide.finished_at, wide.is_null
FROM wide
LEFT JOIN judging USING (config_hash, metric)
LEFT JOIN preference USING (run_id)
ORDER BY max(wide.finished_at) OVER (PARTITION BY wide.config_hash) DESC, wide.config_hash, place;

COMMENT ON VIEW leaderboard_cure IS 'One row per configuration, benchmark and model: newest configuration first; within a benchmark, models whose explanations are distinguished from shuffled ones, by value, then the other models, then null models. Compare within one config_hash and benchmark only.';
COMMENT ON COLUMN leaderboard_cure.place IS 'Order in the configuration, from 1: by benchmark; within each, models whose explanations are distinguished from shuffled ones, by value, then the other models, then null models.';
COMMENT ON COLUMN leaderboard_cure.model IS 'Model; null:majority always gives the commonest label, null:prior draws labels with the frequencies of the gold labels.';
COMMENT ON COLUMN leaderboard_cure.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN leaderboard_cure.thin_em IS 'Exact match of labels generated alone, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN leaderboard_cure.thin_em_low IS 'Lower end of the 95 % interval of thin_em, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.thin_em_high IS 'Upper end of the 95 % interval of thin_em, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.thin_f1_micro IS 'F1 of all classes'' hits and misses together, labels alone.';
COMMENT ON COLUMN leaderboard_cure.thin_f1_macro IS 'Mean F1 of the classes, labels alone.';
COMMENT ON COLUMN leaderboard_cure.thick_em IS 'Exact match of labels generated with an explanation, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN leaderboard_cure.thick_em_low IS 'Lower end of the 95 % interval of thick_em, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.thick_em_high IS 'Upper end of the 95 % interval of thick_em, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.thick_f1_micro IS 'F1 of all classes'' hits and misses together, with an explanation.';
COMMENT ON COLUMN leaderboard_cure.thick_f1_macro IS 'Mean F1 of the classes, with an explanation.';
COMMENT ON COLUMN leaderboard_cure.majority_em IS 'Exact match of the commonest label on the items sent to the model, the higher of thin and thick; thin_em and thick_em must exceed it.';
COMMENT ON COLUMN leaderboard_cure.prior_em IS 'Expected exact match of random labels, drawn with the frequencies of the gold labels.';
COMMENT ON COLUMN leaderboard_cure.metric IS 'Criterion for explanations: coverage (normad), connotation (casa), coherence (culturebank) or specificity (specnorm); NULL without explanations.';
COMMENT ON COLUMN leaderboard_cure.value IS 'Mean of that metric; NULL if unscored.';
COMMENT ON COLUMN leaderboard_cure.ci_low IS 'Lower end of the 95 % interval of value, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.ci_high IS 'Upper end of the 95 % interval of value, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.null_value IS 'Score of the best of three null explanations by the same judge, over the model''s scored items whose null explanations are judged.';
COMMENT ON COLUMN leaderboard_cure.null_shuffled IS 'Score of the model''s explanations of other items.';
COMMENT ON COLUMN leaderboard_cure.null_generic IS 'Score of an explanation that fits every item.';
COMMENT ON COLUMN leaderboard_cure.null_empty IS 'Score of an empty explanation.';
COMMENT ON COLUMN leaderboard_cure.explanation_gain IS 'Mean score of an item''s explanation minus the score of another item''s explanation in its place; NULL if unscored.';
COMMENT ON COLUMN leaderboard_cure.gain_low IS 'Lower end of the 95 % interval of explanation_gain, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.gain_high IS 'Upper end of the 95 % interval of explanation_gain, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN leaderboard_cure.tells_real_from_shuffled IS 'Whether explanation_gain is above 0 by a sign-flip test (2.5 %; all flips for up to 14 clusters, else 19,999 random ones). If false, value is not a finding: another item''s explanation may score as high. NULL for fewer than six clusters.';
COMMENT ON COLUMN leaderboard_cure.judge IS 'Judges of the explanations, separated by commas; NULL if there are none.';
COMMENT ON COLUMN leaderboard_cure.rubric IS 'Metric by which the explanations were judged, and hash of its rubric.';
COMMENT ON COLUMN leaderboard_cure.validated IS 'Whether each judge was compared with people under this rubric; NULL without judges. judge_validation has the agreement.';
COMMENT ON COLUMN leaderboard_cure.self_preference IS 'Whether a judge and the model are of one model family, so that the judge may favour the model; NULL if there is no judge.';
COMMENT ON COLUMN leaderboard_cure.n_items IS 'Number of items sent to the model, answered or not.';
COMMENT ON COLUMN leaderboard_cure.thin_scored IS 'Number of items in thin_em: a lost label counts as wrong.';
COMMENT ON COLUMN leaderboard_cure.thick_scored IS 'Number of items in thick_em: a lost label counts as wrong.';
COMMENT ON COLUMN leaderboard_cure.n_judged IS 'Number of scored explanations: a lost one scores 0.';
