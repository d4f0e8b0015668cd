-- A run that names a study of people is compared with that study's snapshot, any other with table 1 and its packs.
CREATE OR REPLACE VIEW spectral_expected AS
WITH configuration AS (
    SELECT config_hash, any_value(json_extract_string(params, '$.human')) AS human
    FROM run WHERE evaluation = 'spectral' GROUP BY config_hash
)
SELECT config_hash, d.domain, c.human,
    if(c.human IS NULL, d.human_score, h.human_score) AS human_score,
    if(c.human IS NULL, d.human_sd, h.human_sd) AS human_sd,
    if(c.human IS NULL, d.human_category, h.human_category) AS human_category,
    -- Section 3.2 of the paper.
    if(c.human IS NULL, if(p.domain IS NULL, NULL, 80), h.n_people) AS human_n
FROM configuration AS c
JOIN (
    SELECT DISTINCT config_hash, domain, human_score, human_sd, human_category FROM spectral_question
) AS d USING (config_hash)
LEFT JOIN domain AS p ON p.domain = d.domain
LEFT JOIN human_domain AS h ON h.study || ':' || h.snapshot = c.human AND h.domain = d.domain;

COMMENT ON VIEW spectral_expected IS 'Category and rank that people expect of each domain, from the ground truth of each configuration.';
COMMENT ON COLUMN spectral_expected.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN spectral_expected.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_expected.human IS 'Study and snapshot of the people who ranked, joined by a colon (human_domain); NULL: table 1 of the paper.';
COMMENT ON COLUMN spectral_expected.human_score IS 'Mean rank; low means common across countries.';
COMMENT ON COLUMN spectral_expected.human_sd IS 'Standard deviation of the ranks.';
COMMENT ON COLUMN spectral_expected.human_category IS 'Category that people expect.';
COMMENT ON COLUMN spectral_expected.human_n IS 'Number of people who ranked; NULL for a domain of a pack, whose author set the expectation.';
