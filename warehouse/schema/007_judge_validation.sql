-- What `culturemeter judge validate` finds: people among themselves, and judges against people.

CREATE TABLE judge_validation (
    judge VARCHAR,
    judge_hash VARCHAR,
    rubric VARCHAR,
    dimension VARCHAR,
    metric VARCHAR CHECK (metric IN (
        'krippendorff_alpha_nominal', 'krippendorff_alpha_ordinal', 'krippendorff_alpha_interval',
        'cohen_kappa', 'cohen_kappa_quadratic', 'pearson', 'spearman', 'pearson_graded', 'spearman_graded',
        'brier', 'expected_calibration_error'
    )),
    value DOUBLE,
    unscored_reason VARCHAR,
    ci_low DOUBLE,
    ci_high DOUBLE,
    n INTEGER NOT NULL CHECK (n >= 0),
    created_at TIMESTAMP NOT NULL,
    source VARCHAR NOT NULL,
    PRIMARY KEY (judge, judge_hash, rubric, dimension, metric),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL)),
    CHECK ((ci_low IS NULL) = (ci_high IS NULL))
);
COMMENT ON TABLE judge_validation IS 'How far each judge agrees with people who rated the same answers, one row a number. A judge without rows for its rubric was never compared with people.';
COMMENT ON COLUMN judge_validation.judge IS 'Model that judged: verdict.judge.';
COMMENT ON COLUMN judge_validation.judge_hash IS 'Identifies its engine: verdict.judge_hash.';
COMMENT ON COLUMN judge_validation.rubric IS 'Rubric that it judged by, with the hash of its content: verdict.rubric.';
COMMENT ON COLUMN judge_validation.dimension IS 'What was rated, such as coverage.';
COMMENT ON COLUMN judge_validation.metric IS 'krippendorff_alpha_*: people among themselves. cohen_kappa*: the judge''s verdict and people''s commonest rating. pearson, spearman: its verdict, or with _graded its graded score, and people''s mean. brier, expected_calibration_error: its graded score and what most people say.';
COMMENT ON COLUMN judge_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN judge_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN judge_validation.ci_low IS 'Lower end of the 95 % bootstrap interval, over items; NULL if there is none.';
COMMENT ON COLUMN judge_validation.ci_high IS 'Upper end of the 95 % bootstrap interval; NULL if there is none.';
COMMENT ON COLUMN judge_validation.n IS 'Items that the number rests on.';
COMMENT ON COLUMN judge_validation.created_at IS 'When it was computed (UTC).';
COMMENT ON COLUMN judge_validation.source IS 'Name and SHA-256 of each file of ratings.';
