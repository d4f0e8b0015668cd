CREATE OR REPLACE VIEW report_doubt AS
SELECT r.evaluation, r.config_hash, row_number() OVER (
    PARTITION BY r.evaluation, r.config_hash ORDER BY r.model, d.metric, d.reason
) AS place, r.model, d.metric, d.reason
FROM latest_run AS r
JOIN doubt AS d USING (run_id);

COMMENT ON VIEW report_doubt IS 'Doubts that reports show: the newest run of each model and configuration.';
COMMENT ON COLUMN report_doubt.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_doubt.place IS 'Order within the configuration, from 1.';
COMMENT ON COLUMN report_doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN report_doubt.reason IS 'Reason not to trust the headline.';
