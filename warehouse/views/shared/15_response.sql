CREATE OR REPLACE VIEW response AS
SELECT p.run_id, p.model, p.item, p.conversation, p.text, p.finish_reason, p.prompt_tokens, p.completion_tokens,
    p.seed, p.option_logprobs, p.request_hash, p.part
FROM read_parquet('{parts}/response/*.parquet', hive_partitioning = false, union_by_name = true) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'response') AS u
    ON p.part = u.part AND p.item = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW response IS 'Every text that a model wrote, with what it was asked (Parquet): judges'' answers too.';
COMMENT ON COLUMN response.run_id IS 'Run that asked: run.run_id.';
COMMENT ON COLUMN response.model IS 'Model that wrote it: a candidate or a judge.';
COMMENT ON COLUMN response.item IS 'Which conversation: the hash of what was asked.';
COMMENT ON COLUMN response.conversation IS 'The messages that were sent, as JSON.';
COMMENT ON COLUMN response.text IS 'What came back.';
COMMENT ON COLUMN response.finish_reason IS 'stop, length, or the engine''s own word.';
COMMENT ON COLUMN response.prompt_tokens IS 'Tokens of the conversation.';
COMMENT ON COLUMN response.completion_tokens IS 'Tokens of the answer.';
COMMENT ON COLUMN response.seed IS 'Seed of the sampling.';
COMMENT ON COLUMN response.option_logprobs IS 'Natural-log probability of each option where the answer chooses one, as JSON; NULL if none were given or the engine gives none.';
COMMENT ON COLUMN response.request_hash IS 'Engine and sampling; the conversation is the item.';
COMMENT ON COLUMN response.part IS 'Part that holds the row: parts/response/<part>.parquet.';
