-- With few domains a null model scores high: a random category for each of nine reaches 0.54 in 2.5 % of draws,
-- and a random order of them 0.7. Intervals of models are over countries and do not cover that.
CREATE OR REPLACE VIEW spectral_doubt AS
WITH own AS (
    SELECT v.run_id, r.config_hash, v.metric, v.value
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND NOT r.is_null AND v.slice_kind = 'overall' AND v.value IS NOT NULL
), guessing AS (
    SELECT n.config_hash, n.model, v.value, coalesce(v.ci_high, v.value) AS highest
    FROM latest_run AS n
    JOIN metric_value AS v USING (run_id)
    WHERE n.evaluation = 'spectral' AND n.is_null AND n.model IN ('null:uniform-by-domain', 'null:always-LH')
        AND v.metric = 'macro_f1' AND v.slice_kind = 'overall'
), ordered AS (
    SELECT run_id, min(n_scored) AS n_domains
    FROM metric_value
    WHERE metric = 'rank_spearman' AND slice_kind = 'variant' AND value IS NOT NULL
    GROUP BY run_id
)
SELECT own.run_id, metric,
    format('its medians are those of a cohort of one model ({}), which moved macro-F1 by 0.07 to 0.18 in simulations',
        any_value(m.model)) AS reason
FROM own
JOIN cohort AS c ON c.config_hash = own.config_hash
JOIN run AS m ON m.run_id = c.run_id AND NOT m.is_null
WHERE metric = 'macro_f1'
GROUP BY own.run_id, metric
HAVING count(*) = 1
UNION ALL
SELECT run_id, metric,
    if(g.value >= own.value, format('{} scores {:.2f}, the model {:.2f}', g.model, g.value, own.value),
        format('{} reaches {:.2f} in 2.5 % of its draws, the model {:.2f}', g.model, g.highest, own.value)) AS reason
FROM own
JOIN guessing AS g USING (config_hash)
WHERE metric = 'macro_f1' AND g.highest >= own.value
UNION ALL
SELECT run_id, metric,
    coalesce(format('a random order of {} domains reaches {:.2f} in 2.5 % of cases', n_domains, least_rho(n_domains)),
        format('no order of {} domains can be told from a random one', n_domains))
FROM own
JOIN ordered USING (run_id)
WHERE metric = 'rank_spearman' AND NOT coalesce(own.value > least_rho(n_domains) - 1e-9, false)
UNION ALL
SELECT run_id, metric, 'questions and names in other languages were not checked by speakers'
FROM own
WHERE metric = 'language_agreement'
UNION ALL
SELECT own.run_id, metric, 'questions and names were not checked by speakers of the language'
FROM own
JOIN run USING (run_id)
WHERE metric = 'macro_f1' AND len((run.params->'languages')::VARCHAR[]) > 0
    AND NOT list_contains((run.params->'languages')::VARCHAR[], 'en')
UNION ALL
SELECT own.run_id, own.metric, format('shuffled countries agree as much in {:.2g} of cases', v.value)
FROM own
JOIN metric_value AS v ON v.run_id = own.run_id AND v.metric = 'language_agreement_p' AND v.slice_kind = 'overall'
WHERE own.metric = 'language_agreement' AND v.value > 0.05;

COMMENT ON VIEW spectral_doubt IS 'Rows that spectral adds to the view doubt: models whose macro-F1 random categories also reach or one model alone decides, whose rank agreement random orders also reach, or whose languages were not checked by speakers.';
COMMENT ON COLUMN spectral_doubt.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN spectral_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN spectral_doubt.reason IS 'Reason not to trust the headline.';
