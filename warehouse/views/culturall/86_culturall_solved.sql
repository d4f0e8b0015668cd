CREATE OR REPLACE VIEW culturall_solved AS
WITH item AS (
    SELECT config_hash, language, item, count(*) FILTER (correct) AS n_solved
    FROM culturall_answer
    SEMI JOIN latest_run USING (run_id)
    WHERE condition = 'native'
    GROUP BY ALL
)
SELECT config_hash, row_number() OVER (PARTITION BY config_hash ORDER BY language, n_solved) AS place, language,
    n_solved, count(*) AS n_items
FROM item
GROUP BY config_hash, language, n_solved;

COMMENT ON VIEW culturall_solved IS 'Number of items of each language by the number of models that solve them.';
COMMENT ON COLUMN culturall_solved.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_solved.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN culturall_solved.language IS 'Language of the items.';
COMMENT ON COLUMN culturall_solved.n_solved IS 'Number of models that solve an item in its own language.';
COMMENT ON COLUMN culturall_solved.n_items IS 'Number of items that exactly n_solved models solve.';

CREATE OR REPLACE VIEW culturall_example AS
WITH chosen AS (
    SELECT config_hash, item
    FROM culturall_answer
    SEMI JOIN latest_run USING (run_id)
    WHERE condition = 'native'
    QUALIFY row_number() OVER (PARTITION BY config_hash ORDER BY md5(item)) = 1
)
SELECT a.config_hash, row_number() OVER (PARTITION BY a.config_hash ORDER BY a.model) AS place, a.model, a.item,
    a.language, a.region, a.topic, a.scenario, a.question, a.gold, a.answer, a.matched, a.judged, a.correct,
    a.unscored_reason
FROM culturall_answer AS a
SEMI JOIN latest_run USING (run_id)
SEMI JOIN chosen USING (config_hash, item)
WHERE a.condition = 'native';

COMMENT ON VIEW culturall_example IS 'One item with the answer of every model in the item''s own language.';
COMMENT ON COLUMN culturall_example.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_example.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN culturall_example.model IS 'Model that answered.';
COMMENT ON COLUMN culturall_example.item IS 'Item, which is the same for all models of a configuration.';
COMMENT ON COLUMN culturall_example.language IS 'Language of the item.';
COMMENT ON COLUMN culturall_example.region IS 'Region of the item.';
COMMENT ON COLUMN culturall_example.topic IS 'Topic of the item.';
COMMENT ON COLUMN culturall_example.scenario IS 'Scenario.';
COMMENT ON COLUMN culturall_example.question IS 'Question.';
COMMENT ON COLUMN culturall_example.gold IS 'Gold answer.';
COMMENT ON COLUMN culturall_example.answer IS 'Answer of the model; NULL if there is nothing to read.';
COMMENT ON COLUMN culturall_example.matched IS 'Whether the answer equals the gold answer, decided without a judge.';
COMMENT ON COLUMN culturall_example.judged IS 'Whether the judges accept the answer as right.';
COMMENT ON COLUMN culturall_example.correct IS 'Whether accuracy counts the answer as right.';
COMMENT ON COLUMN culturall_example.unscored_reason IS 'Why there is no score; NULL if there is one.';
