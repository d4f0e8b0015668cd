CREATE OR REPLACE VIEW spectral_similarity AS
SELECT r.config_hash,
    row_number() OVER (PARTITION BY r.config_hash ORDER BY s.model, s.domain, s.country_a, s.country_b) AS place,
    s.model, s.domain, s.country_a, s.country_b, s.similarity
FROM latest_run AS r
JOIN country_similarity AS s USING (run_id)
WHERE r.evaluation = 'spectral' AND NOT r.is_null;

COMMENT ON VIEW spectral_similarity IS 'country_similarity of the newest finished run of each model and configuration.';
COMMENT ON COLUMN spectral_similarity.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_similarity.place IS 'Order in the configuration, from 1: by model, domain and countries.';
COMMENT ON COLUMN spectral_similarity.model IS 'Model that answered.';
COMMENT ON COLUMN spectral_similarity.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_similarity.country_a IS 'The country whose code is first in the alphabet: country.country.';
COMMENT ON COLUMN spectral_similarity.country_b IS 'The other country: country.country.';
COMMENT ON COLUMN spectral_similarity.similarity IS 'Cosine of their distributions over items; 1: the same, 0: no item in common.';
