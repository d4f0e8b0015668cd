CREATE OR REPLACE VIEW country_similarity AS
SELECT p.run_id, p.model, p.domain, p.country_a, p.country_b, p.similarity, p.request_hash, p.part
FROM read_parquet('{parts}/country_similarity/*.parquet', hive_partitioning = false) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = 'country_similarity') AS u
    ON p.part = u.part AND p.domain = u.unit AND p.request_hash = u.request_hash
WHERE p.country_a < p.country_b;

COMMENT ON VIEW country_similarity IS 'How alike a model''s answers on two countries are, each pair once (Parquet).';
COMMENT ON COLUMN country_similarity.run_id IS 'Run that computed it: run.run_id.';
COMMENT ON COLUMN country_similarity.model IS 'Model that answered.';
COMMENT ON COLUMN country_similarity.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN country_similarity.country_a IS 'The country whose code is first in the alphabet: country.country.';
COMMENT ON COLUMN country_similarity.country_b IS 'The other country: country.country.';
COMMENT ON COLUMN country_similarity.similarity IS 'Cosine of their distributions over items; 1: the same, 0: no item in common.';
COMMENT ON COLUMN country_similarity.request_hash IS 'What it was computed for: part_unit.request_hash.';
COMMENT ON COLUMN country_similarity.part IS 'Part that holds the row: parts/country_similarity/<part>.parquet.';
