CREATE OR REPLACE VIEW report_cohort AS
SELECT r.evaluation, c.config_hash, c.cohort,
    row_number() OVER (PARTITION BY c.config_hash, c.cohort ORDER BY r.model, c.run_id) AS place,
    r.model, c.run_id, c.frozen_at
FROM cohort AS c
JOIN run AS r USING (run_id)
WHERE NOT r.is_null;

COMMENT ON VIEW report_cohort IS 'The models of each frozen cohort, over which numbers that compare models are computed. A configuration has one cohort.';
COMMENT ON COLUMN report_cohort.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_cohort.cohort IS 'Name of the cohort; first: the models of the first finished run.';
COMMENT ON COLUMN report_cohort.place IS 'Order in the cohort, from 1: by name.';
COMMENT ON COLUMN report_cohort.frozen_at IS 'When the cohort was frozen (UTC).';
