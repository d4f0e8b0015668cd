CREATE OR REPLACE VIEW embedding AS
SELECT p.run_id, p.model, p.text_hash, p.vector, p.n_tokens, p.truncated, p.request_hash, p.part
FROM read_parquet('{parts}/embedding/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'embedding') AS u
    ON p.part = u.part AND p.text_hash = u.unit AND p.request_hash = u.request_hash;

COMMENT ON VIEW embedding IS 'Vector of every text that was embedded, once for each embedder (Parquet). list_cosine_similarity() compares two; vectors of different models may not be compared.';
COMMENT ON COLUMN embedding.run_id IS 'Run that embedded it first: run.run_id. Other runs may use it too.';
COMMENT ON COLUMN embedding.model IS 'Embedder, with its commit or the SHA-256 of its content.';
COMMENT ON COLUMN embedding.text_hash IS 'Which text: left(sha256(text), 32).';
COMMENT ON COLUMN embedding.vector IS 'Numbers of the vector; all zero if the embedder knows nothing of the text.';
COMMENT ON COLUMN embedding.n_tokens IS 'Tokens of the whole text; for word vectors, its words.';
COMMENT ON COLUMN embedding.truncated IS 'Whether the text is longer than the embedder reads, so that its end was left out.';
COMMENT ON COLUMN embedding.request_hash IS 'Which embedder; the text is the unit.';
COMMENT ON COLUMN embedding.part IS 'Part that holds the row: parts/embedding/<part>.parquet.';
