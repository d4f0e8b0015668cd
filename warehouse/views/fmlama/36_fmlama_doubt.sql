-- Naming common ingredients beats a random ranking without knowing a dish. mAP has a paired gain over that; other
-- numbers have to exceed the sides of both intervals combined, as for independent numbers (Zou and Donner 2008).
CREATE OR REPLACE VIEW fmlama_doubt AS
WITH own AS (
    SELECT v.run_id, r.config_hash, v.metric, v.value, v.ci_low
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'fmlama' AND NOT r.is_null AND v.slice_kind = 'overall'
), common AS (
    SELECT n.config_hash, n.model, v.metric, v.value, coalesce(v.ci_high, v.value) AS highest
    FROM latest_run AS n
    JOIN metric_value AS v USING (run_id)
    WHERE n.evaluation = 'fmlama' AND n.is_null AND v.metric IN ('mws', 'mes') AND v.slice_kind = 'overall'
)
SELECT run_id, 'map' AS metric, 'not shown to beat the best baseline' AS reason
FROM own
WHERE metric = 'map_gain' AND value IS NOT NULL AND NOT coalesce(ci_low > 0, false)
UNION ALL
SELECT run_id, metric, format('{} scores {:.2f}, not clearly less', c.model, c.value)
FROM own
JOIN common AS c USING (config_hash, metric)
WHERE own.value - c.value <= sqrt((own.value - own.ci_low) ** 2 + (c.highest - c.value) ** 2);

COMMENT ON VIEW fmlama_doubt IS 'Rows that fmlama adds to the view doubt: scores that are also reached by naming common ingredients.';
COMMENT ON COLUMN fmlama_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN fmlama_doubt.reason IS 'Reason not to trust the headline.';
