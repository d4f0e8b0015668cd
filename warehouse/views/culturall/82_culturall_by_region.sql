CREATE OR REPLACE VIEW culturall_by_region AS
SELECT r.config_hash, r.profile, r.model, v.slice AS region, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value,
    v.n_scored, v.n_unscored, v.unscored_reason, r.is_null, r.run_id
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'region'
ORDER BY r.config_hash, v.slice, r.is_null, v.value DESC NULLS LAST, r.model;
