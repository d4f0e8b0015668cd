CREATE OR REPLACE VIEW worldwise_answer AS
SELECT p.run_id, p.model, p.condition AS config_hash, p.culture, p.scenario, p.repetition, p.framework, p.dimension,
    p.category, p.decision, p.value_1, p.value_2, p.value_3, p.explanation, p.score, p.target, p.alignment, p.words,
    p.truncated, p.unscored_reason, p.item, p.part
FROM read_parquet('{parts}/worldwise_answer/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'worldwise_answer') AS u
    ON p.part = u.part AND p.condition = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW worldwise_answer IS 'Every answer of a model to a scenario, read and scored on the scenario''s primary dimension (Parquet).';
COMMENT ON COLUMN worldwise_answer.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN worldwise_answer.model IS 'Model that answered.';
COMMENT ON COLUMN worldwise_answer.config_hash IS 'Configuration: run.config_hash. Only equal ones may be compared.';
COMMENT ON COLUMN worldwise_answer.culture IS 'Persona that the model was given: an ISO code, or baseline for none.';
COMMENT ON COLUMN worldwise_answer.scenario IS 'Scenario: scenario.scenario.';
COMMENT ON COLUMN worldwise_answer.repetition IS 'Which of the equal requests, from 0: the seed of its sampling.';
COMMENT ON COLUMN worldwise_answer.framework IS 'Framework of the dimension, such as hofstede.';
COMMENT ON COLUMN worldwise_answer.dimension IS 'Primary dimension of the scenario: dimension.dimension.';
COMMENT ON COLUMN worldwise_answer.category IS 'Category of the scenario.';
COMMENT ON COLUMN worldwise_answer.decision IS 'A, B or Decline; NULL if the answer could not be read.';
COMMENT ON COLUMN worldwise_answer.value_1 IS 'Value that the model named first; NULL if it named none.';
COMMENT ON COLUMN worldwise_answer.value_2 IS 'Value that the model named second; NULL if there is none.';
COMMENT ON COLUMN worldwise_answer.value_3 IS 'Value that the model named third; NULL if there is none.';
COMMENT ON COLUMN worldwise_answer.explanation IS 'Reasons that the model gave; NULL if the answer could not be read.';
COMMENT ON COLUMN worldwise_answer.score IS 'Projection of the answer on the dimension, -2 to 2; NULL if unscored.';
COMMENT ON COLUMN worldwise_answer.target IS 'Where the culture lies on the dimension, -2 to 2; NULL for baseline.';
COMMENT ON COLUMN worldwise_answer.alignment IS 'max(0, 10 - 2.5 |target - score|), 0 to 10; NULL if unscored or without a target.';
COMMENT ON COLUMN worldwise_answer.words IS 'Words of the text that was embedded; NULL if the answer could not be read.';
COMMENT ON COLUMN worldwise_answer.truncated IS 'Whether the embedder left out the end of that text; NULL if there is none.';
COMMENT ON COLUMN worldwise_answer.unscored_reason IS 'Why there is no score; NULL if there is one.';
COMMENT ON COLUMN worldwise_answer.item IS 'Which conversation: response.item, with the model''s own words.';
COMMENT ON COLUMN worldwise_answer.part IS 'Part that holds the row: parts/worldwise_answer/<part>.parquet.';
