CREATE OR REPLACE VIEW recipes_doubt AS
SELECT v.run_id, m.doubts AS metric, concat('not shown to be above its control: ', m.label) AS reason
FROM run AS r
JOIN recipe_metric AS m ON m.evaluation = r.evaluation AND m.doubts IS NOT NULL
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
WHERE NOT r.is_null AND NOT coalesce(v.ci_low > 0, false)
UNION ALL
SELECT DISTINCT v.run_id, m.metric, 'a judge fails its check'
FROM run AS r
JOIN recipe_metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id
WHERE NOT r.is_null AND v.slice_kind = 'judge' AND v.value < 0.9
UNION ALL
SELECT v.run_id, m.metric, format('right options are not mixed: {:.0f} % at one position{}', 100 * max_by(v.value, excess),
    max_by(if(v.slice_kind = 'overall', '', concat(' of ', v.slice_kind, ' ', v.slice)), excess))
FROM run AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN (
    SELECT *, value - null_value + if(slice_kind = 'overall', 1e-9, 0) AS excess
    FROM metric_value WHERE metric = 'unmixed_positions'
) AS v ON v.run_id = r.run_id
WHERE NOT r.is_null
GROUP BY ALL;

COMMENT ON VIEW recipes_doubt IS 'Rows that evaluations from recipes add to the view doubt: headlines not shown to be above the model''s score on a control, judges that fail their own check, and choices whose right options are mostly at one position.';
COMMENT ON COLUMN recipes_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN recipes_doubt.reason IS 'Reason not to trust the headline.';
