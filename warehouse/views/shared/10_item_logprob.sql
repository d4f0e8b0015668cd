-- {parts} is the folder of the parts, put in by migrate.py, which re-creates the views when the home has moved.
-- The semi-join shows a part's rows only for the units that it is registered for: orphaned and superseded rows
-- never show, and no row shows twice.
CREATE OR REPLACE VIEW item_logprob AS
SELECT p.run_id, p.model, p.domain, p.question, p.country, p.item, p.logprob, p.n_tokens, p.request_hash, p.part
FROM read_parquet('{parts}/item_logprob/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'item_logprob') AS u
    ON p.part = u.part AND p.country = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW item_logprob IS 'Log-probability of every item as the answer to every question on every country (Parquet). Runs that ask the same share rows: join run_request on request_hash.';
COMMENT ON COLUMN item_logprob.run_id IS 'Run that did the work: run.run_id. Other runs may use it too: run_request.';
COMMENT ON COLUMN item_logprob.model IS 'Model that answered.';
COMMENT ON COLUMN item_logprob.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN item_logprob.question IS 'Question: question.question.';
COMMENT ON COLUMN item_logprob.country IS 'Country asked about: country.country.';
COMMENT ON COLUMN item_logprob.item IS 'Item scored: item.item.';
COMMENT ON COLUMN item_logprob.logprob IS 'Natural-log probability of the item after the prompt, summed over its tokens, without an end token.';
COMMENT ON COLUMN item_logprob.n_tokens IS 'Tokens of the item.';
COMMENT ON COLUMN item_logprob.request_hash IS 'What was asked: run_request.request_hash.';
COMMENT ON COLUMN item_logprob.part IS 'Part that holds the row: parts/item_logprob/<part>.parquet.';
