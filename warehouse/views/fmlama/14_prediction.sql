CREATE OR REPLACE VIEW prediction AS
SELECT p.run_id, p.model, split_part(p.condition, ':', 1) AS main_language,
    split_part(p.condition, ':', 2) AS subject_language, split_part(p.condition, ':', 3) = 'yes' AS country_mentioned,
    p.template, p.dish, p.dish_name, p.origin, p.rank, p.candidate, p.outcome, p.part
FROM read_parquet('{parts}/prediction/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'prediction') AS u
    ON p.part = u.part AND p.condition = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW prediction IS 'The top predictions of every model for every dish and template: as many as the dish has reference ingredients (Parquet).';
COMMENT ON COLUMN prediction.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN prediction.model IS 'Model.';
COMMENT ON COLUMN prediction.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN prediction.subject_language IS 'Language of the dish''s name; another than main_language is code-switching.';
COMMENT ON COLUMN prediction.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN prediction.template IS 'Template: template.template.';
COMMENT ON COLUMN prediction.dish IS 'Dish: fmlama_dish.url.';
COMMENT ON COLUMN prediction.dish_name IS 'Name of the dish as it stood in the sentence.';
COMMENT ON COLUMN prediction.origin IS 'Origin, or origin group, of the dish.';
COMMENT ON COLUMN prediction.rank IS 'Place in the model''s ranking, from 1.';
COMMENT ON COLUMN prediction.candidate IS 'What was predicted.';
COMMENT ON COLUMN prediction.outcome IS 'correct; local: wrong, but an ingredient of other dishes of the origin; foreign: of none of them.';
COMMENT ON COLUMN prediction.part IS 'Part that holds the row: parts/prediction/<part>.parquet.';
