CREATE OR REPLACE VIEW report_judge AS
WITH judged AS (
    SELECT r.evaluation, r.config_hash, v.judge, v.judge_hash, v.rubric, count(*) AS n_verdicts,
        count(*) FILTER (v.verdict IS NULL) AS n_unscored, count(v.graded) AS n_graded
    FROM verdict AS v
    JOIN latest_run AS r USING (run_id)
    GROUP BY ALL
)
SELECT evaluation, config_hash,
    row_number() OVER (PARTITION BY evaluation, config_hash ORDER BY judge, judge_hash, rubric) AS place,
    judge, judge_hash, rubric, split_part(rubric, ' ', 1) AS metric, n_verdicts, n_unscored, n_graded
FROM judged;

COMMENT ON VIEW report_judge IS 'Judges and rubrics of a configuration, in the newest finished run of each model.';
COMMENT ON COLUMN report_judge.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_judge.place IS 'Order in the configuration, from 1: by judge, its engine and rubric.';
COMMENT ON COLUMN report_judge.judge IS 'Model that judged.';
COMMENT ON COLUMN report_judge.judge_hash IS 'Hash of the judge''s engine: two engines of one name are two judges.';
COMMENT ON COLUMN report_judge.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN report_judge.metric IS 'Subject of the rubric: its name without the hash.';
COMMENT ON COLUMN report_judge.n_verdicts IS 'Number of verdicts, including those on null models'' answers.';
COMMENT ON COLUMN report_judge.n_unscored IS 'Number of verdicts that could not be read.';
COMMENT ON COLUMN report_judge.n_graded IS 'Number of verdicts with a grade from the judge''s probabilities.';

CREATE OR REPLACE VIEW report_validation AS
SELECT j.evaluation, j.config_hash,
    row_number() OVER (
        PARTITION BY j.evaluation, j.config_hash ORDER BY j.judge, judge_hash, rubric, v.created_at, v.metric
    ) AS place,
    j.judge, judge_hash, rubric, v.metric, v.value, v.unscored_reason, v.n AS n_scored, 0 AS n_unscored, v.ci_low, v.ci_high,
    NULL::DOUBLE AS null_value, v.created_at, v.source
FROM report_judge AS j
JOIN judge_validation AS v USING (judge_hash, rubric);

COMMENT ON VIEW report_validation IS 'Agreement of a configuration''s judges with people, from judge_validation; the columns of a number are named as in report_value.';
COMMENT ON COLUMN report_validation.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN report_validation.place IS 'Order in the configuration, from 1: by judge, its engine, rubric and time.';
COMMENT ON COLUMN report_validation.judge IS 'Model that judged.';
COMMENT ON COLUMN report_validation.judge_hash IS 'Hash of the judge''s engine, on which rows are joined; the judge''s name may have differed when it was compared with people.';
COMMENT ON COLUMN report_validation.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN report_validation.metric IS 'Agreement with people, or of people with each other: judge_validation.metric.';
COMMENT ON COLUMN report_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN report_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN report_validation.n_scored IS 'Number of items from which the number is computed.';
COMMENT ON COLUMN report_validation.n_unscored IS 'Always 0: items that nobody rated are not counted.';
COMMENT ON COLUMN report_validation.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN report_validation.null_value IS 'Always NULL: agreement has no null model.';
COMMENT ON COLUMN report_validation.created_at IS 'When the judge was compared with people (UTC).';
COMMENT ON COLUMN report_validation.source IS 'File of the ratings.';
