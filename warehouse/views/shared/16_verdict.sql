CREATE OR REPLACE VIEW verdict AS
SELECT p.run_id, p.model, p.request_hash, p.judge, p.judge_hash, p.rubric, p.item, p.item_name, p.origin, p.judged, p.verdict, p.reason, p.value,
    p.graded, p.disagreement, p.unscored_reason, p.part
FROM read_parquet('{parts}/verdict/*.parquet', hive_partitioning = false, union_by_name = true) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'verdict') AS u
    ON p.part = u.part AND p.item = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW verdict IS 'What judges said of models'' answers (Parquet). Their own words are in the view response.';
COMMENT ON COLUMN verdict.run_id IS 'Run that was judged: run.run_id.';
COMMENT ON COLUMN verdict.model IS 'Model that was judged.';
COMMENT ON COLUMN verdict.request_hash IS 'What the part answers: a run, for cure with judge and benchmark.';
COMMENT ON COLUMN verdict.judge IS 'Model that judged.';
COMMENT ON COLUMN verdict.judge_hash IS 'Identifies its engine: two of one name may differ; NULL for verdicts stored before this was.';
COMMENT ON COLUMN verdict.rubric IS 'Rubric, with the hash of its content.';
COMMENT ON COLUMN verdict.item IS 'What the answer is about: for fmlama the dish, fmlama_dish.url.';
COMMENT ON COLUMN verdict.item_name IS 'Its name as the judge saw it.';
COMMENT ON COLUMN verdict.origin IS 'Origin of the item.';
COMMENT ON COLUMN verdict.judged IS 'The answer, or the part of it, that was judged: for fmlama a predicted ingredient.';
COMMENT ON COLUMN verdict.verdict IS 'A verdict of the rubric''s menu; NULL if unscored.';
COMMENT ON COLUMN verdict.reason IS 'A reason of the rubric''s menu; NULL if the judge gave none of it.';
COMMENT ON COLUMN verdict.value IS 'Value of the verdict, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN verdict.graded IS 'Mean of the verdicts'' values weighted by the judge''s probabilities, 0 to 1; NULL if the engine gives none.';
COMMENT ON COLUMN verdict.disagreement IS 'Standard deviation over several judgements of the same answer; NULL for fewer than two.';
COMMENT ON COLUMN verdict.unscored_reason IS 'Why there is no verdict; NULL if there is one.';
COMMENT ON COLUMN verdict.part IS 'Part that holds the row: parts/verdict/<part>.parquet.';
