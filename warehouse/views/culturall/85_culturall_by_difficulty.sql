CREATE OR REPLACE VIEW culturall_by_difficulty AS
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice_kind, list_position(['easy', 'medium', 'hard'], v.slice), r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS difficulty, v.slice_kind = 'published_difficulty' AS is_published, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND j.language IS NULL
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind IN ('difficulty', 'published_difficulty')
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_difficulty IS 'Accuracy in the items'' own language, by difficulty. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_difficulty.place IS 'Order in the configuration, from 1: by difficulty; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_difficulty.difficulty IS 'easy, medium or hard, by the number of the cohort''s other models that solve the items; if is_published, by the 15 published settings.';
COMMENT ON COLUMN culturall_by_difficulty.is_published IS 'Whether the 15 published settings define the difficulty, and not the cohort''s other models.';
COMMENT ON COLUMN culturall_by_difficulty.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_difficulty.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_difficulty.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_difficulty.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_difficulty.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_difficulty.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_difficulty.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_difficulty.judge_flagged IS 'Whether a judge fails its own check.';
