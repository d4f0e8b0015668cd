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
COMMENT ON COLUMN cure_doubt.reason IS 'Reason not to trust the headline.';
