-- A run's rows are in one of the two: save_metrics and archive.py move them in one transaction.
CREATE OR REPLACE VIEW metric_value AS
SELECT v.* REPLACE (coalesce(n.model, v.model) AS model)
FROM metric_value_base AS v
LEFT JOIN renamed_run AS n USING (run_id)
UNION ALL
SELECT run_id, model, metric, slice_kind, slice, value, unscored_reason, n_scored, n_unscored, ci_low, ci_high, null_value
FROM metric_row;

COMMENT ON VIEW metric_value IS 'Numbers of all runs, one row each. An unscored number is NULL with a reason, never NaN and never 0.';
COMMENT ON COLUMN metric_value.model IS 'Model: run.model.';
COMMENT ON COLUMN metric_value.metric IS 'Metric: metric.metric of the run''s evaluation.';
COMMENT ON COLUMN metric_value.slice_kind IS 'overall, domain, question, country and so on.';
COMMENT ON COLUMN metric_value.slice IS 'Name of the domain, question or country; "all" for overall.';
COMMENT ON COLUMN metric_value.value IS 'The number, infinite where its definition says so; NULL if unscored.';
COMMENT ON COLUMN metric_value.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN metric_value.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN metric_value.n_unscored IS 'Number of points that belong to the value but could not be scored.';
COMMENT ON COLUMN metric_value.ci_low IS 'Lower end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value.ci_high IS 'Upper end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value.null_value IS 'Value of a null model for the same metric and slice (metric.null_baseline); NULL if there is none.';
