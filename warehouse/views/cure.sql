CREATE OR REPLACE VIEW cure_doubt AS
-- If a benchmark's flag is unscored, the other benchmarks of the metric decide.
SELECT v.run_id, v.metric,
    if(bool_and(flag.value = 1) IS NULL, 'too few explanations for a test against another item''s',
        'explanations not shown to beat another item''s') AS reason
FROM metric_value AS v
JOIN metric AS m ON m.evaluation = 'cure' AND m.metric = v.metric AND m.is_headline
JOIN run AS r ON r.run_id = v.run_id AND r.evaluation = 'cure' AND NOT r.is_null
JOIN metric_value AS flag ON flag.run_id = v.run_id AND flag.slice_kind = v.slice_kind AND flag.slice = v.slice
WHERE v.slice_kind = 'benchmark' AND flag.metric = 'tells_real_from_shuffled'
GROUP BY v.run_id, v.metric
HAVING NOT coalesce(bool_and(flag.value = 1), false);

COMMENT ON VIEW cure_doubt IS 'Rows that cure adds to the view doubt: judges that do not distinguish an item''s explanation from another item''s.';
COMMENT ON COLUMN cure_doubt.metric IS 'Headline: metric.metric.';

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
    UNION ALL -- a run that ends early has one number, over all benchmarks
    SELECT r.config_hash, r.profile, r.model, r.is_null, 'all', b.params->'modes'->>0, 'benchmark_mode', v.metric,
        v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, r.run_id, r.finished_at, false
    FROM latest_run AS r
    JOIN run_base AS b USING (run_id)
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND v.slice_kind = 'overall' AND v.metric = 'exact_match' AND b.params->>'until' <> ''
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
COMMENT ON COLUMN leaderboard_cure.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack; all, for a run that ended early (--until).';
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

CREATE OR REPLACE VIEW cure_thin_vs_thick AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        split_part(v.slice, ':', 2) AS mode, v.metric, v.value, v.unscored_reason, v.ci_low, v.ci_high,
        v.n_scored, v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND v.slice_kind IN ('benchmark', 'benchmark_mode')
), wide AS (
    SELECT config_hash, profile, model, is_null, benchmark,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_em,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_em,
        any_value(value) FILTER (metric = 'thin_thick_difference') AS difference,
        any_value(ci_low) FILTER (metric = 'thin_thick_difference') AS ci_low,
        any_value(ci_high) FILTER (metric = 'thin_thick_difference') AS ci_high,
        any_value(value) FILTER (metric = 'thin_thick_p') AS p,
        any_value(value) FILTER (metric = 'f1_macro' AND mode = 'thick')
            - any_value(value) FILTER (metric = 'f1_macro' AND mode = 'thin') AS f1_macro_difference,
        any_value(value) FILTER (metric = 'exact_match_iqr' AND mode = 'thin') AS thin_iqr,
        any_value(value) FILTER (metric = 'exact_match_iqr' AND mode = 'thick') AS thick_iqr,
        any_value(value) FILTER (metric = 'exact_match_variance' AND mode = 'thin') AS thin_variance,
        any_value(value) FILTER (metric = 'exact_match_variance' AND mode = 'thick') AS thick_variance,
        any_value(n_scored) FILTER (metric = 'exact_match_iqr') AS n_countries,
        any_value(n_scored) FILTER (metric = 'thin_thick_difference') AS n_scored,
        any_value(n_unscored) FILTER (metric = 'thin_thick_difference') AS n_unscored,
        any_value(unscored_reason) FILTER (metric = 'thin_thick_difference') AS unscored_reason,
        run_id, finished_at
    FROM part
    GROUP BY ALL
    HAVING count(*) FILTER (metric = 'thin_thick_difference') > 0
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], benchmark), benchmark, is_null, model
    ) AS place,
    * EXCLUDE (config_hash)
FROM wide;

COMMENT ON VIEW cure_thin_vs_thick IS 'Comparison of labels generated alone with labels generated with an explanation, by benchmark and model, where both modes were run.';
COMMENT ON COLUMN cure_thin_vs_thick.place IS 'Order in the configuration, from 1: by benchmark; within each, models, then null models.';
COMMENT ON COLUMN cure_thin_vs_thick.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_em IS 'Exact match of labels generated alone; a lost label is wrong.';
COMMENT ON COLUMN cure_thin_vs_thick.thick_em IS 'Exact match of labels generated with an explanation; a lost label is wrong.';
COMMENT ON COLUMN cure_thin_vs_thick.difference IS 'Thick minus thin exact match on the items sent in both modes. Above 0: the model is right more often when it explains. NULL if unscored.';
COMMENT ON COLUMN cure_thin_vs_thick.ci_low IS 'Lower end of the 95 % interval of difference, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN cure_thin_vs_thick.ci_high IS 'Upper end of the 95 % interval of difference, over pairs or stories of items, else their countries.';
COMMENT ON COLUMN cure_thin_vs_thick.p IS 'McNemar''s exact test of difference, two-sided, not adjusted for the number of tests.';
COMMENT ON COLUMN cure_thin_vs_thick.f1_macro_difference IS 'Thick minus thin macro F1.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_iqr IS 'Interquartile range of thin exact match over countries.';
COMMENT ON COLUMN cure_thin_vs_thick.thick_iqr IS 'Interquartile range of thick exact match over countries.';
COMMENT ON COLUMN cure_thin_vs_thick.thin_variance IS 'Variance of thin exact match over countries (ddof 1).';
COMMENT ON COLUMN cure_thin_vs_thick.thick_variance IS 'Variance of thick exact match over countries (ddof 1).';
COMMENT ON COLUMN cure_thin_vs_thick.n_countries IS 'Number of countries from which the interquartile ranges and variances are computed.';
COMMENT ON COLUMN cure_thin_vs_thick.n_scored IS 'Number of items sent in both modes.';
COMMENT ON COLUMN cure_thin_vs_thick.n_unscored IS 'Number of items sent in only one mode.';
COMMENT ON COLUMN cure_thin_vs_thick.unscored_reason IS 'Why there is no difference; NULL if there is one.';

CREATE OR REPLACE VIEW cure_by_country AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        CASE v.slice_kind WHEN 'benchmark_mode_country' THEN split_part(v.slice, ':', 2) END AS mode,
        split_part(v.slice, ':', CASE v.slice_kind WHEN 'benchmark_country' THEN 2 ELSE 3 END) AS country,
        v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND v.slice_kind IN ('benchmark_country', 'benchmark_mode_country')
), wide AS (
    SELECT config_hash, profile, model, is_null, benchmark, country,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_em,
        any_value(ci_low) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_em_low,
        any_value(ci_high) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_em_high,
        any_value(value) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_em,
        any_value(ci_low) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_em_low,
        any_value(ci_high) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_em_high,
        max(null_value) FILTER (metric = 'exact_match') AS majority_em,
        any_value(metric) FILTER (mode IS NULL) AS metric,
        any_value(value) FILTER (mode IS NULL) AS value,
        any_value(ci_low) FILTER (mode IS NULL) AS ci_low,
        any_value(ci_high) FILTER (mode IS NULL) AS ci_high,
        any_value(null_value) FILTER (mode IS NULL) AS null_value,
        max(n_scored + n_unscored) AS n_items,
        any_value(n_scored) FILTER (metric = 'exact_match' AND mode = 'thin') AS thin_scored,
        any_value(n_scored) FILTER (metric = 'exact_match' AND mode = 'thick') AS thick_scored,
        any_value(n_scored) FILTER (mode IS NULL) AS n_judged,
        run_id, finished_at
    FROM part
    GROUP BY ALL
)
SELECT wide.* EXCLUDE (run_id, finished_at), coalesce(c.name, wide.country) AS country_name, wide.run_id,
    wide.finished_at
FROM wide
LEFT JOIN country AS c ON c.country = wide.country;

COMMENT ON VIEW cure_by_country IS 'The leaderboard''s numbers country by country. A country has few items, so read the intervals.';
COMMENT ON COLUMN cure_by_country.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN cure_by_country.country IS 'Country: country.country. Items without a known country are left out.';
COMMENT ON COLUMN cure_by_country.thin_em IS 'Exact match of labels generated alone, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_country.thin_em_low IS 'Lower end of the 95 % interval of thin_em, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.thin_em_high IS 'Upper end of the 95 % interval of thin_em, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.thick_em IS 'Exact match of labels generated with an explanation, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_country.thick_em_low IS 'Lower end of the 95 % interval of thick_em, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.thick_em_high IS 'Upper end of the 95 % interval of thick_em, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.majority_em IS 'Exact match of the benchmark''s commonest label on the country''s items, the higher of thin and thick.';
COMMENT ON COLUMN cure_by_country.metric IS 'Criterion for explanations: coverage, connotation, coherence or specificity; NULL without explanations.';
COMMENT ON COLUMN cure_by_country.value IS 'Mean of that metric; NULL if unscored.';
COMMENT ON COLUMN cure_by_country.ci_low IS 'Lower end of the 95 % interval of value, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.ci_high IS 'Upper end of the 95 % interval of value, over items; items of a pair or story stay together.';
COMMENT ON COLUMN cure_by_country.null_value IS 'Score of the best of three null explanations, over the same items whose null explanations are judged; for a country without any, over the benchmark''s items.';
COMMENT ON COLUMN cure_by_country.n_items IS 'Number of items of the country sent to the model.';
COMMENT ON COLUMN cure_by_country.thin_scored IS 'Number of items in thin_em: a lost label counts as wrong.';
COMMENT ON COLUMN cure_by_country.thick_scored IS 'Number of items in thick_em: a lost label counts as wrong.';
COMMENT ON COLUMN cure_by_country.n_judged IS 'Number of scored explanations: a lost one scores 0.';
COMMENT ON COLUMN cure_by_country.country_name IS 'Name of the country: country.name.';

CREATE OR REPLACE VIEW cure_over_models AS
WITH score AS (
    SELECT r.config_hash, split_part(v.slice, ':', 1) AS benchmark,
        split_part(v.slice, ':', 2) AS mode, v.metric, v.model, v.value, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure' AND NOT r.is_null AND v.slice_kind = 'benchmark_mode'
        AND v.metric IN ('exact_match', 'f1_micro', 'f1_macro') AND v.value IS NOT NULL
)
SELECT config_hash, benchmark, metric, mode, count(*) AS n_models, avg(value) AS mean, median(value) AS median,
    min(value) AS lowest, max(value) AS highest,
    CASE WHEN count(*) > 1 THEN quantile_cont(value, 0.75) - quantile_cont(value, 0.25) END AS iqr,
    var_samp(value) AS variance, max(finished_at) AS finished_at
FROM score
GROUP BY config_hash, benchmark, metric, mode;

COMMENT ON VIEW cure_over_models IS 'Spread of models'' label scores by benchmark and mode, as in figures 2 and 3 of Vo and Koyejo 2025. Null models are left out.';
COMMENT ON COLUMN cure_over_models.benchmark IS 'normad, casa, culturebank, specnorm, or one of a pack.';
COMMENT ON COLUMN cure_over_models.metric IS 'exact_match, f1_micro or f1_macro.';
COMMENT ON COLUMN cure_over_models.mode IS 'thin: the label alone. thick: with an explanation.';
COMMENT ON COLUMN cure_over_models.n_models IS 'Number of models that have the score.';
COMMENT ON COLUMN cure_over_models.mean IS 'Mean over the models.';
COMMENT ON COLUMN cure_over_models.median IS 'Median over the models.';
COMMENT ON COLUMN cure_over_models.lowest IS 'Score of the lowest model.';
COMMENT ON COLUMN cure_over_models.highest IS 'Score of the highest model.';
COMMENT ON COLUMN cure_over_models.iqr IS 'Interquartile range, linear interpolation; NULL for fewer than two models.';
COMMENT ON COLUMN cure_over_models.variance IS 'Variance (ddof 1); NULL for fewer than two models.';
COMMENT ON COLUMN cure_over_models.finished_at IS 'When the last of their runs ended (UTC).';

CREATE OR REPLACE VIEW cure_by_cue AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, split_part(v.slice, ':', 1) AS benchmark,
        if(ends_with(v.slice_kind, '_cue'), 'cue', 'specificity') AS broken_down_by,
        CASE WHEN starts_with(v.slice_kind, 'benchmark_mode_') THEN split_part(v.slice, ':', 2) END AS mode,
        split_part(v.slice, ':', -1) AS value_of, v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored,
        v.n_unscored, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'cure'
        AND v.slice_kind IN ('benchmark_cue', 'benchmark_specificity', 'benchmark_mode_cue', 'benchmark_mode_specificity')
)
SELECT config_hash, profile, model, is_null, benchmark, broken_down_by, value_of,
    any_value(value) FILTER (mode = 'thin') AS thin_em,
    any_value(value) FILTER (mode = 'thick') AS thick_em,
    max(null_value) FILTER (mode IS NOT NULL) AS majority_em,
    any_value(metric) FILTER (mode IS NULL) AS metric,
    any_value(value) FILTER (mode IS NULL) AS value,
    any_value(ci_low) FILTER (mode IS NULL) AS ci_low,
    any_value(ci_high) FILTER (mode IS NULL) AS ci_high,
    any_value(null_value) FILTER (mode IS NULL) AS null_value,
    max(n_scored + n_unscored) AS n_items,
    any_value(n_scored) FILTER (mode IS NULL) AS n_judged,
    run_id, finished_at
FROM part
GROUP BY ALL;

COMMENT ON VIEW cure_by_cue IS 'SpecNorm by the cues of its items, and by specificity, which is the number of cues (Vo and Koyejo 2025, table 2). An item counts under each of its cues.';
COMMENT ON COLUMN cure_by_cue.benchmark IS 'specnorm, or a pack''s benchmark of the same form.';
COMMENT ON COLUMN cure_by_cue.broken_down_by IS 'cue or specificity.';
COMMENT ON COLUMN cure_by_cue.value_of IS 'Cue: region, ethnicity, religion, age, gender, occupation, marital_status. Specificity: low (one cue), medium (two or three), high (four or more).';
COMMENT ON COLUMN cure_by_cue.thin_em IS 'Exact match of labels generated alone, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_cue.thick_em IS 'Exact match of labels generated with an explanation, 0 to 1; NULL if not run or unscored.';
COMMENT ON COLUMN cure_by_cue.majority_em IS 'Exact match of the benchmark''s commonest label on the same items, the higher of thin and thick.';
COMMENT ON COLUMN cure_by_cue.metric IS 'Criterion for explanations: specificity; NULL without explanations.';
COMMENT ON COLUMN cure_by_cue.value IS 'Mean of that metric; NULL if unscored.';
COMMENT ON COLUMN cure_by_cue.ci_low IS 'Lower end of the 95 % interval of value, over pairs of items, else their countries.';
COMMENT ON COLUMN cure_by_cue.ci_high IS 'Upper end of the 95 % interval of value, over pairs of items, else their countries.';
COMMENT ON COLUMN cure_by_cue.null_value IS 'Score of the best of three null explanations, over the same items whose null explanations are judged; for a slice without any, over the benchmark''s items.';
COMMENT ON COLUMN cure_by_cue.n_items IS 'Number of items sent to the model.';
COMMENT ON COLUMN cure_by_cue.n_judged IS 'Number of scored explanations: a lost one scores 0.';
