CREATE OR REPLACE VIEW culturall_doubt AS
SELECT DISTINCT run_id, unnest(['accuracy', 'scenario_gain']) AS metric, 'a judge fails its check' AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND NOT r.is_null AND v.slice_kind IN ('judge', 'judge_language') AND v.value < 0.9;

COMMENT ON VIEW culturall_doubt IS 'Rows that culturall adds to the view doubt: judges that fail their own check (culturall_judge.flagged). accuracy_matched is never doubted, since it needs no judge.';
COMMENT ON COLUMN culturall_doubt.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN culturall_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN culturall_doubt.reason IS 'Reason not to trust the headline.';
