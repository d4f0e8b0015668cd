CREATE OR REPLACE VIEW cure_answer AS
SELECT p.run_id, p.model, p.condition AS config_hash, p.benchmark, p.mode, p.item, p.country, p.label, p.gold_label,
    p.correct, p.explanation, p.score, p.verdict, p.disagreement, p.unscored_reason, p.part
FROM read_parquet('{parts}/cure_answer/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'cure_answer') AS u
    ON p.part = u.part AND p.condition = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW cure_answer IS 'Every answer of a model to an item of a norm benchmark, its label marked and its explanation judged (Parquet).';
COMMENT ON COLUMN cure_answer.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN cure_answer.model IS 'Model that answered.';
COMMENT ON COLUMN cure_answer.config_hash IS 'Configuration: run.config_hash. Only equal ones may be compared.';
COMMENT ON COLUMN cure_answer.benchmark IS 'normad, casa, culturebank or specnorm.';
COMMENT ON COLUMN cure_answer.mode IS 'thin: the label only; thick: label and explanation.';
COMMENT ON COLUMN cure_answer.item IS 'Item of the benchmark.';
COMMENT ON COLUMN cure_answer.country IS 'Country of the item: an ISO code; NULL if it has none.';
COMMENT ON COLUMN cure_answer.label IS 'Label that the model chose; NULL if the answer could not be read.';
COMMENT ON COLUMN cure_answer.gold_label IS 'Label of the benchmark.';
COMMENT ON COLUMN cure_answer.correct IS 'Whether the two are equal; NULL if the answer could not be read.';
COMMENT ON COLUMN cure_answer.explanation IS 'Reasons that the model gave; NULL in thin mode or if they could not be read.';
COMMENT ON COLUMN cure_answer.score IS 'Score of the explanation, 0 to 1, graded where the judge gives probabilities; NULL in thin mode or if unscored.';
COMMENT ON COLUMN cure_answer.verdict IS 'Verdict of the judge, or the commonest one of several; NULL if there is none.';
COMMENT ON COLUMN cure_answer.disagreement IS 'Standard deviation over several judgements of the explanation; NULL for fewer than two.';
COMMENT ON COLUMN cure_answer.unscored_reason IS 'Why the answer or its explanation is unscored; NULL if neither is.';
COMMENT ON COLUMN cure_answer.part IS 'Part that holds the row: parts/cure_answer/<part>.parquet.';
