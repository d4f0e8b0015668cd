CREATE OR REPLACE VIEW culturall_doubt AS
SELECT DISTINCT run_id, unnest(['accuracy', 'scenario_gain']) AS metric, 'a judge fails its check' AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND NOT r.is_null AND v.slice_kind IN ('judge', 'judge_language') AND v.value < 0.9
UNION ALL
SELECT run_id, 'accuracy', printf('matching does not read %.0f %% of the answers: a judge would', 100 * (1 - v.value))
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND NOT r.is_null AND v.metric = 'match_read' AND v.slice_kind = 'overall'
    AND v.value < 0.95
    AND NOT EXISTS (FROM metric_value AS j WHERE j.run_id = r.run_id AND j.metric = 'judge_match_agreement');

COMMENT ON VIEW culturall_doubt IS 'Rows that culturall adds to the view doubt: judges that fail their own check (culturall_judge.flagged), and accuracy by match where matching does not read over 5 % of the answers.';
COMMENT ON COLUMN culturall_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN culturall_doubt.reason IS 'Reason not to trust the headline.';
