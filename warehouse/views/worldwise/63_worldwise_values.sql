CREATE OR REPLACE VIEW worldwise_values AS
SELECT r.config_hash, r.profile, r.model, split_part(v.slice, ':', 1) AS culture,
    coalesce(g.key, split_part(v.slice, ':', 2)) AS value,
    coalesce(g.label, split_part(v.slice, ':', 2)) AS label,
    v.value AS share, v.ci_low, v.ci_high, v.null_value AS baseline_share, v.value - v.null_value AS shift,
    round(v.value * v.n_scored)::BIGINT AS times,
    CASE WHEN v.value IS NOT NULL THEN rank() OVER (
        PARTITION BY run_id, split_part(v.slice, ':', 1) ORDER BY v.value DESC NULLS LAST
    ) END AS rank,
    v.unscored_reason, run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN worldwise_label AS g
    ON g.config_hash = r.config_hash AND g.kind = 'value' AND split_part(v.slice, ':', 2) IN (g.key, g.label)
WHERE r.evaluation = 'worldwise' AND v.metric = 'value_share' AND v.slice_kind = 'culture_value';

COMMENT ON VIEW worldwise_values IS 'Values that a model names, by culture, and their difference from its answers without a persona.';
COMMENT ON COLUMN worldwise_values.culture IS 'Culture of the persona: country.country, or baseline: no persona.';
COMMENT ON COLUMN worldwise_values.value IS 'Value: guiding_value.value, or one of a pack.';
COMMENT ON COLUMN worldwise_values.label IS 'Name of the value, as models see it.';
COMMENT ON COLUMN worldwise_values.share IS 'Share of all values that were named, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN worldwise_values.ci_low IS 'Lower end of the 95 % interval of share, over scenarios.';
COMMENT ON COLUMN worldwise_values.ci_high IS 'Upper end of the 95 % interval of share.';
COMMENT ON COLUMN worldwise_values.baseline_share IS 'Share among the values named without a persona.';
COMMENT ON COLUMN worldwise_values.shift IS 'share minus baseline_share, -1 to 1; times 100: percentage points.';
COMMENT ON COLUMN worldwise_values.times IS 'Number of times that the value was named: share times the number of values named.';
COMMENT ON COLUMN worldwise_values.rank IS 'Place among the culture''s values, from 1; ties share a place.';
COMMENT ON COLUMN worldwise_values.unscored_reason IS 'Why there is no share; NULL if there is one.';
