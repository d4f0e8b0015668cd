CREATE OR REPLACE VIEW candidate_score AS
SELECT p.run_id, p.model, p.template, p.prompt, p.candidate, p.logprob, p.probability, p.n_tokens, p.request_hash, p.part
FROM read_parquet('{parts}/candidate_score/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'candidate_score') AS u
    ON p.part = u.part AND p.prompt = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW candidate_score IS 'Score of every candidate in the blank of every probing sentence (Parquet). A candidate that the model cannot spell has no row. Runs that ask the same share rows: join run_request on request_hash.';
COMMENT ON COLUMN candidate_score.run_id IS 'Run that did the work: run.run_id. Other runs may use it too: run_request.';
COMMENT ON COLUMN candidate_score.model IS 'Model that answered.';
COMMENT ON COLUMN candidate_score.template IS 'Template: template.template.';
COMMENT ON COLUMN candidate_score.prompt IS 'The sentence up to the blank, with the dish in it.';
COMMENT ON COLUMN candidate_score.candidate IS 'What fills the blank.';
COMMENT ON COLUMN candidate_score.logprob IS 'Natural-log probability, summed over the scored tokens.';
COMMENT ON COLUMN candidate_score.probability IS 'Probability of a scored token, mean (FmLAMA, equation 2).';
COMMENT ON COLUMN candidate_score.n_tokens IS 'Scored tokens: the candidate''s, and for decoder-only models those after the blank too.';
COMMENT ON COLUMN candidate_score.request_hash IS 'What was asked: run_request.request_hash.';
COMMENT ON COLUMN candidate_score.part IS 'Part that holds the row: parts/candidate_score/<part>.parquet.';
