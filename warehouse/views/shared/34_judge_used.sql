CREATE OR REPLACE VIEW judge_used AS
WITH validated AS (
    SELECT DISTINCT judge_hash, rubric
    FROM judge_validation
    WHERE value IS NOT NULL AND NOT starts_with(metric, 'krippendorff_alpha')
), used AS (
    -- A part belongs to the run that wrote it; runs of the same configuration have its judges and rubrics.
    SELECT DISTINCT r.evaluation, r.config_hash, v.judge, v.judge_hash, v.rubric
    FROM verdict AS v
    JOIN run AS r USING (run_id)
)
SELECT used.evaluation, used.config_hash, split_part(used.rubric, ' ', 1) AS metric, used.judge, used.judge_hash,
    used.rubric, validated.judge_hash IS NOT NULL AS validated
FROM used
LEFT JOIN validated USING (judge_hash, rubric);

COMMENT ON VIEW judge_used IS 'Judges and rubrics of a configuration, and whether the judge was compared with people under that rubric.';
COMMENT ON COLUMN judge_used.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN judge_used.metric IS 'Subject of the rubric: its name without the hash.';
COMMENT ON COLUMN judge_used.judge IS 'Model that judged.';
COMMENT ON COLUMN judge_used.judge_hash IS 'Hash of the judge''s engine.';
COMMENT ON COLUMN judge_used.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN judge_used.validated IS 'Whether judge_validation has a number for this judge under this rubric; see there how well the judge agrees with people.';
