CREATE OR REPLACE VIEW against_null AS
WITH doubted AS (
    SELECT run_id, metric, string_agg(reason, '; ' ORDER BY reason) AS doubt FROM doubt GROUP BY ALL
), placed AS (
    SELECT v.run_id, m.evaluation, r.config_hash, r.model, m.metric, m.label,
        CASE m.direction WHEN 'higher' THEN v.ci_low > v.null_value WHEN 'lower' THEN v.ci_high < v.null_value END AS is_clear
    FROM run AS r
    JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
    WHERE r.status = 'finished' AND NOT r.is_null
)
SELECT evaluation, config_hash, run_id, model, metric, label,
    if(is_clear IS NULL, NULL, is_clear AND doubt IS NULL) AS is_beyond_null, doubt
FROM placed
LEFT JOIN doubted USING (run_id, metric);

COMMENT ON VIEW against_null IS 'Comparison of every headline of every run with its null (docs/intervals.md); reports, overview, leaderboards and model_scores use it.';
COMMENT ON COLUMN against_null.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN against_null.run_id IS 'Run: run.run_id; no null models.';
COMMENT ON COLUMN against_null.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN against_null.label IS 'Name of the headline for display.';
COMMENT ON COLUMN against_null.is_beyond_null IS 'Whether the 95 % interval lies beyond the null on the better side and no doubt applies; NULL without an interval or a null.';
COMMENT ON COLUMN against_null.doubt IS 'Reason not to trust the headline (doubt.reason); NULL if there is none.';
