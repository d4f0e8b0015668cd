-- Intervals whose ends are in the wrong order, or with only one end.
SELECT run_id, metric, slice_kind, slice, value, ci_low, ci_high
FROM metric_value
WHERE ci_low > ci_high OR (ci_low IS NULL) <> (ci_high IS NULL);
