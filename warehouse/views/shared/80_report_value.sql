-- Two kinds of slices name another model of the configuration.
CREATE OR REPLACE VIEW report_value AS
SELECT r.evaluation, r.config_hash,
    row_number() OVER (
        PARTITION BY r.evaluation, r.config_hash ORDER BY r.is_null, v.model, v.metric, v.slice_kind, v.slice
    ) AS place,
    v.model, r.is_null, v.metric, v.slice_kind,
    coalesce(if(v.slice_kind = 'choice', 'without ', '') || other.model, v.slice) AS slice, v.value, v.unscored_reason,
    v.n_scored, v.n_unscored, v.ci_low, v.ci_high, v.null_value
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN (SELECT config_hash, saved, min(model) AS model FROM renamed_run GROUP BY ALL) AS other
    ON other.config_hash = r.config_hash AND other.saved = CASE
        WHEN v.slice_kind = 'model_pair' THEN v.slice
        WHEN v.slice_kind = 'choice' AND starts_with(v.slice, 'without ') THEN v.slice[9:]
    END;

COMMENT ON VIEW report_value IS 'Every number of every evaluation, as report pages show it: newest finished run of each model and configuration.';
COMMENT ON COLUMN report_value.config_hash IS 'Configuration: run.config_hash. Only numbers with the same config_hash may be compared.';
COMMENT ON COLUMN report_value.place IS 'Order in the configuration, from 1: models before null models, then by name.';
COMMENT ON COLUMN report_value.metric IS 'Metric: metric.metric.';
COMMENT ON COLUMN report_value.slice_kind IS 'Kind of slice: overall, domain, question, country and so on.';
COMMENT ON COLUMN report_value.slice IS 'Name of the slice; "all" for overall.';
COMMENT ON COLUMN report_value.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN report_value.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN report_value.n_scored IS 'Number of points from which the number is computed.';
COMMENT ON COLUMN report_value.n_unscored IS 'Number of points that could not be used.';
COMMENT ON COLUMN report_value.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_value.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_value.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';
