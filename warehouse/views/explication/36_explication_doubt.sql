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
COMMENT ON COLUMN explication_doubt.reason IS 'Reason not to trust the headline.';
