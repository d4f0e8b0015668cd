CREATE OR REPLACE VIEW country_neighbour AS
WITH both_ways AS (
    SELECT run_id, model, domain, country_a AS country, country_b AS neighbour, similarity FROM country_similarity
    UNION ALL
    SELECT run_id, model, domain, country_b, country_a, similarity FROM country_similarity
)
SELECT run_id, model, domain, country,
    row_number() OVER (PARTITION BY run_id, model, domain, country ORDER BY similarity DESC, neighbour) AS rank,
    neighbour, similarity
FROM both_ways
QUALIFY rank <= 5;

COMMENT ON VIEW country_neighbour IS 'The five countries with the most similar answers of a model, for each country.';
COMMENT ON COLUMN country_neighbour.run_id IS 'Run that computed it: run.run_id.';
COMMENT ON COLUMN country_neighbour.model IS 'Model that answered.';
COMMENT ON COLUMN country_neighbour.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN country_neighbour.country IS 'Country: country.country.';
COMMENT ON COLUMN country_neighbour.rank IS 'Rank, from 1 (most similar) to 5; ties in the order of country codes.';
COMMENT ON COLUMN country_neighbour.neighbour IS 'The similar country: country.country.';
COMMENT ON COLUMN country_neighbour.similarity IS 'Cosine of the two distributions over items.';
