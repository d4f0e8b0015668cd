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
