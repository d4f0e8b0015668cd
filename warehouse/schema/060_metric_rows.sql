-- Numbers of finished runs go to parts of the kind metric_row (warehouse/archive.py); the newest are here. There is no
-- key: its index takes more room than the rows, and save_metrics sees that no row repeats.

CREATE TABLE metric_value_base (
    run_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    slice_kind VARCHAR NOT NULL,
    slice VARCHAR NOT NULL,
    value DOUBLE CHECK (NOT isnan(value)),
    unscored_reason VARCHAR,
    n_scored BIGINT NOT NULL CHECK (n_scored >= 0),
    n_unscored BIGINT NOT NULL CHECK (n_unscored >= 0),
    ci_low DOUBLE CHECK (NOT isnan(ci_low)),
    ci_high DOUBLE CHECK (NOT isnan(ci_high)),
    null_value DOUBLE CHECK (NOT isnan(null_value)),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL))
);
INSERT INTO metric_value_base BY NAME FROM metric_value;
DROP TABLE metric_value;

COMMENT ON TABLE metric_value_base IS 'The rows of metric_value that are not in parts yet. Query metric_value.';
COMMENT ON COLUMN metric_value_base.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN metric_value_base.model IS 'Model: run.model.';
COMMENT ON COLUMN metric_value_base.metric IS 'Metric: metric.metric of the run''s evaluation.';
COMMENT ON COLUMN metric_value_base.slice_kind IS 'overall, domain, question, country and so on.';
COMMENT ON COLUMN metric_value_base.slice IS 'Which domain, question or country; "all" for overall.';
COMMENT ON COLUMN metric_value_base.value IS 'The number, infinite where its definition says so; NULL if unscored.';
COMMENT ON COLUMN metric_value_base.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN metric_value_base.n_scored IS 'Points that the value rests on.';
COMMENT ON COLUMN metric_value_base.n_unscored IS 'Points that should have been in it and could not be scored.';
COMMENT ON COLUMN metric_value_base.ci_low IS 'Lower end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value_base.ci_high IS 'Upper end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value_base.null_value IS 'What a null model scores in its place (metric.null_baseline); NULL if there is none.';
