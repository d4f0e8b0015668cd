CREATE OR REPLACE VIEW culturall_by_topic AS
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice, r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS topic, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND j.language IS NULL
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'topic'
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_topic IS 'Accuracy in the items'' own language, by topic. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_topic.place IS 'Order in the configuration, from 1: by topic; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_topic.topic IS 'One of the 16 topics.';
COMMENT ON COLUMN culturall_by_topic.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_topic.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_topic.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_topic.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_topic.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_topic.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_topic.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_topic.judge_flagged IS 'Whether a judge fails its own check.';
