-- A judge is held against people at equal length of what it judges, too; and what a survey asks is said as it is asked.

CREATE TEMP TABLE kept_validation AS FROM judge_validation;
DROP TABLE judge_validation;
CREATE TABLE judge_validation (
    judge VARCHAR,
    judge_hash VARCHAR,
    rubric VARCHAR,
    dimension VARCHAR,
    metric VARCHAR CHECK (metric IN (
        'krippendorff_alpha_nominal', 'krippendorff_alpha_ordinal', 'krippendorff_alpha_interval',
        'cohen_kappa', 'cohen_kappa_quadratic', 'pearson', 'spearman', 'pearson_graded', 'spearman_graded',
        'pearson_equal_length', 'spearman_equal_length', 'brier', 'expected_calibration_error'
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
INSERT INTO judge_validation BY NAME FROM kept_validation;
DROP TABLE kept_validation;

COMMENT ON TABLE judge_validation IS 'How far each judge agrees with people who rated the same answers, one row a number. A judge without rows for its rubric was never compared with people.';
COMMENT ON COLUMN judge_validation.judge IS 'Model that judged: verdict.judge.';
COMMENT ON COLUMN judge_validation.judge_hash IS 'Identifies its engine: verdict.judge_hash.';
COMMENT ON COLUMN judge_validation.rubric IS 'Rubric that it judged by, with the hash of its content: verdict.rubric.';
COMMENT ON COLUMN judge_validation.dimension IS 'What was rated, such as coverage.';
COMMENT ON COLUMN judge_validation.metric IS 'krippendorff_alpha_*: people among themselves. cohen_kappa*: the judge''s verdict and people''s commonest one, of the rubric''s menu. pearson, spearman: its verdict, or with _graded its graded score, with _equal_length that score without what the length of the text explains, and people''s mean. brier, expected_calibration_error: its graded score and what most people say.';
COMMENT ON COLUMN judge_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN judge_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN judge_validation.ci_low IS 'Lower end of the 95 % interval, which leaves out item after item; NULL if there is none.';
COMMENT ON COLUMN judge_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN judge_validation.n IS 'Items that the number rests on.';
COMMENT ON COLUMN judge_validation.created_at IS 'When it was computed (UTC).';
COMMENT ON COLUMN judge_validation.source IS 'Name and SHA-256 of each file of ratings.';

COMMENT ON COLUMN human_exclusion.reason IS 'failed an attention check, contradicts the own ranking, too fast, unfinished, or over a quota.';
COMMENT ON COLUMN human_domain.share_high IS 'Share of those who annotated its pluralism who say that countries have many patterns of answers; NULL if nobody did.';
COMMENT ON COLUMN human_domain.human_category IS 'Expected category: effective rank by what most say of its pluralism, spectral gap ratio by a score below the median; NULL if nobody annotated it, people are tied, or they were asked of one country alone.';
