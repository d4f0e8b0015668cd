CREATE OR REPLACE VIEW culturall_by_language AS
WITH spread AS (
    SELECT config_hash, language, count(DISTINCT region) AS n_regions, count(DISTINCT item) AS n_items
    FROM culturall_answer
    GROUP BY ALL
)
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice, r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS language, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason, spread.n_regions,
    CASE WHEN spread.n_regions BETWEEN 2 AND least(4, spread.n_items - 1) THEN spread.n_regions || ' regions; an interval over regions needs 5'
    END AS no_interval_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND (j.language = v.slice OR j.language IS NULL)
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN spread ON spread.config_hash = r.config_hash AND spread.language = v.slice
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'language'
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_language IS 'Accuracy in the items'' own language, by language. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_language.place IS 'Order in the configuration, from 1: by language; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_language.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN culturall_by_language.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_language.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_language.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_language.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_language.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_language.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_language.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_language.n_regions IS 'Number of regions of the language''s items.';
COMMENT ON COLUMN culturall_by_language.no_interval_reason IS 'Reason if the language has too few regions for an interval; NULL if it has enough, only one, or one item in each.';
COMMENT ON COLUMN culturall_by_language.judge_flagged IS 'Whether a judge fails its own check in this language or overall.';
