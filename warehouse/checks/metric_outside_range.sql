-- Values, interval ends and null values outside the metric's range, beyond rounding.
SELECT v.run_id, v.metric, v.slice_kind, v.slice, v.value, v.ci_low, v.ci_high, v.null_value, m.range_low, m.range_high
FROM metric_value AS v
JOIN run AS r USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
WHERE least(v.value, v.ci_low, v.ci_high, v.null_value) < m.range_low - 1e-9
    OR greatest(v.value, v.ci_low, v.ci_high, v.null_value) > m.range_high + 1e-9;
