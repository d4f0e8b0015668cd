CREATE OR REPLACE VIEW report_against_null AS
SELECT a.evaluation, a.config_hash, row_number() OVER (
    PARTITION BY a.evaluation, a.config_hash ORDER BY a.model, a.metric
) AS place, a.model, a.metric, a.is_beyond_null, a.doubt
FROM against_null AS a
JOIN latest_run AS r USING (run_id);

COMMENT ON VIEW report_against_null IS 'Headlines and nulls that reports show: the newest run of each model and configuration.';
COMMENT ON COLUMN report_against_null.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_against_null.place IS 'Order within the configuration, from 1.';
COMMENT ON COLUMN report_against_null.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN report_against_null.is_beyond_null IS 'Value of against_null.is_beyond_null.';
COMMENT ON COLUMN report_against_null.doubt IS 'Reason not to trust the headline; NULL if there is none.';
