CREATE OR REPLACE VIEW worldwise_doubt AS
SELECT run_id, 'alignment' AS metric, 'not shown to beat its best null' AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'worldwise' AND NOT r.is_null AND v.metric = 'alignment_gain' AND v.slice_kind = 'overall'
    AND NOT coalesce(v.ci_low > 0, false);

COMMENT ON VIEW worldwise_doubt IS 'Rows that worldwise adds to the view doubt: alignment whose paired alignment_gain is not shown to be above 0.';
COMMENT ON COLUMN worldwise_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN worldwise_doubt.reason IS 'Reason not to trust the headline.';
