CREATE OR REPLACE VIEW culturall_judge AS
-- One row per configuration, language (NULL: all) and judge, with the result of the judge's check.
WITH part AS (
    SELECT r.config_hash, split_part(v.slice, ':', -1) AS last, v.slice_kind, v.slice, v.metric, v.value
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'culturall' AND v.slice_kind IN ('judge', 'judge_language')
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY slice_kind, slice) AS place,
    CASE slice_kind WHEN 'judge' THEN slice ELSE left(slice, length(slice) - length(last) - 1) END AS judge,
    CASE slice_kind WHEN 'judge_language' THEN last END AS language,
    any_value(value) FILTER (metric = 'judge_gold_accepted') AS gold_accepted,
    any_value(value) FILTER (metric = 'judge_shuffled_refused') AS others_refused,
    any_value(value) FILTER (metric = 'judge_empty_refused') AS empty_refused,
    min(value) < 0.9 AS flagged
FROM part
GROUP BY config_hash, slice_kind, slice, last;

COMMENT ON VIEW culturall_judge IS 'Check of the judges, over all languages and in each: share of gold answers accepted, and shares of wrong and empty answers refused.';
COMMENT ON COLUMN culturall_judge.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_judge.place IS 'Order in the configuration, from 1: first the check over all languages.';
COMMENT ON COLUMN culturall_judge.judge IS 'Judge.';
COMMENT ON COLUMN culturall_judge.language IS 'Language of the items; NULL: all.';
COMMENT ON COLUMN culturall_judge.gold_accepted IS 'Share of gold answers that the judge accepts; NULL if none was judged.';
COMMENT ON COLUMN culturall_judge.others_refused IS 'Share of other items'' gold answers that the judge refuses.';
COMMENT ON COLUMN culturall_judge.empty_refused IS 'Share of empty answers that the judge refuses.';
COMMENT ON COLUMN culturall_judge.flagged IS 'Whether one of the three shares is below 90 %; NULL if all three are unknown.';
