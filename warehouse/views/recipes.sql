CREATE OR REPLACE VIEW recipes_doubt AS
SELECT v.run_id, m.doubts AS metric, concat('not shown to be above its control: ', m.label) AS reason
FROM run AS r
JOIN recipe_metric AS m ON m.evaluation = r.evaluation AND m.doubts IS NOT NULL
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
WHERE NOT r.is_null AND NOT coalesce(v.ci_low > 0, false)
UNION ALL
SELECT DISTINCT v.run_id, m.metric, 'a judge fails its check'
FROM run AS r
JOIN recipe_metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id
WHERE NOT r.is_null AND v.slice_kind = 'judge' AND v.value < 0.9
UNION ALL
SELECT v.run_id, m.metric, format('right options are not mixed: {:.0f} % at one position{}', 100 * max_by(v.value, excess),
    max_by(if(v.slice_kind = 'overall', '', concat(' of ', v.slice_kind, ' ', v.slice)), excess))
FROM run AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN (
    SELECT *, value - null_value + if(slice_kind = 'overall', 1e-9, 0) AS excess
    FROM metric_value WHERE metric = 'unmixed_positions'
) AS v ON v.run_id = r.run_id
WHERE NOT r.is_null
GROUP BY ALL;

COMMENT ON VIEW recipes_doubt IS 'Rows that evaluations from recipes add to the view doubt: headlines not shown to be above the model''s score on a control, judges that fail their own check, and choices whose right options are mostly at one position.';
COMMENT ON COLUMN recipes_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW recipe_answer AS
WITH answer AS (
    SELECT a.*, r.evaluation, 
        coalesce(
            json_extract_string(t.input, if(a.unscored_reason = 'a later turn is scored', '$[#-3].content', NULL)),
            json_extract_string(t.input, '$[#-1].content')
        ) AS prompt,
        avg(a.value) OVER (PARTITION BY a.config_hash, a.item) AS mean
    FROM item_answer AS a
    JOIN latest_run AS r USING (run_id)
    LEFT JOIN sample_text AS t ON t.run_id = a.run_id
        AND t.sample = concat_ws(' / ', a.item, nullif(a.condition, ''), nullif(a.repetition, 1))
    WHERE a.condition NOT IN ('exchanged', 'no_question', 'other_question')
)
SELECT config_hash, row_number() OVER (
        PARTITION BY config_hash ORDER BY mean NULLS LAST, item, model, condition, repetition, turn
    ) AS place,
    evaluation, model, item, condition, repetition, turn, cluster, prompt, answer, target, value, unscored_reason, lost
FROM answer;

COMMENT ON VIEW recipe_answer IS 'Answers of models to every item, in every condition, repetition and turn, of evaluations from recipes: newest run of each model, items with the lowest mean first.';
COMMENT ON COLUMN recipe_answer.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN recipe_answer.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN recipe_answer.item IS 'Item.';
COMMENT ON COLUMN recipe_answer.condition IS 'Condition of the definition; empty if it has none.';
COMMENT ON COLUMN recipe_answer.repetition IS 'Number of the answer among those to the same prompt, from 1; NULL in other evaluations.';
COMMENT ON COLUMN recipe_answer.turn IS 'Turn of the conversation, from 1; the last is scored. NULL in other evaluations.';
COMMENT ON COLUMN recipe_answer.cluster IS 'Cluster.';
COMMENT ON COLUMN recipe_answer.prompt IS 'Message that was sent about the item, as it was then; the last before the answer.';
COMMENT ON COLUMN recipe_answer.answer IS 'Answer of the model; NULL if there is nothing to read.';
COMMENT ON COLUMN recipe_answer.target IS 'Right answer; NULL unless there is exactly one.';
COMMENT ON COLUMN recipe_answer.value IS 'Score of the answer; NULL if unscored.';
COMMENT ON COLUMN recipe_answer.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN recipe_answer.lost IS 'Reason why the answer was lost; NULL if it was not.';

