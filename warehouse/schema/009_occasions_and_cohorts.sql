-- Every re-evaluation is kept, and what numbers that compare models are taken over is frozen.

ALTER TABLE run ADD COLUMN occasion VARCHAR DEFAULT '';
COMMENT ON COLUMN run.occasion IS 'Name of the re-evaluation, such as 2026-w48; empty where what was answered before counts.';

CREATE TABLE cohort (
    config_hash VARCHAR,
    cohort VARCHAR,
    run_id VARCHAR,
    frozen_at TIMESTAMP NOT NULL,
    PRIMARY KEY (config_hash, cohort, run_id)
);
COMMENT ON TABLE cohort IS 'The runs over which numbers that compare models are taken (medians, pooled fits): frozen, so that no row changes because another model is run.';
COMMENT ON COLUMN cohort.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN cohort.cohort IS 'Name of the cohort; first: the models of the first finished run of the configuration.';
COMMENT ON COLUMN cohort.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN cohort.frozen_at IS 'When it was frozen (UTC).';
