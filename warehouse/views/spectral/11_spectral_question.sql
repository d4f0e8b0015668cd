-- Every configuration has the shipped domains; those of a pack are in configurations that were run with it.
CREATE OR REPLACE VIEW spectral_question AS
WITH configuration AS (
    SELECT DISTINCT config_hash FROM run WHERE evaluation = 'spectral'
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'spectral'
), pack_domain AS (
    SELECT config_hash, content->>'domain' AS domain, content->>'label' AS label,
        coalesce(content->>'human_question', '') AS human_question, (content->>'human_score')::DOUBLE AS human_score,
        coalesce((content->>'human_sd')::DOUBLE, 0) AS human_sd, content->>'human_category' AS human_category
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'domain'
), pack_question AS (
    SELECT config_hash, content->>'domain' AS domain, (content->>'variant')::INTEGER AS variant,
        content->>'template' AS template
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'question'
)
SELECT c.config_hash, q.question, domain, q.variant, q.template, d.label, d.human_question, d.human_score, d.human_sd,
    d.human_category
FROM configuration AS c
CROSS JOIN question AS q
JOIN domain AS d USING (domain)
UNION ALL
SELECT config_hash, q.domain || '-' || q.variant, domain, q.variant, q.template, d.label, d.human_question,
    d.human_score, d.human_sd, d.human_category
FROM pack_domain AS d
JOIN pack_question AS q USING (config_hash, domain);

COMMENT ON VIEW spectral_question IS 'Questions and domains of each configuration: the shipped ones and those of its packs.';
COMMENT ON COLUMN spectral_question.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN spectral_question.question IS 'Identifier: domain, hyphen, variant.';
COMMENT ON COLUMN spectral_question.domain IS 'Domain: domain.domain, or one of a pack.';
COMMENT ON COLUMN spectral_question.variant IS 'Number of the wording within its domain, from 1.';
COMMENT ON COLUMN spectral_question.template IS 'Text of the question; {country} stands for country.name.';
COMMENT ON COLUMN spectral_question.label IS 'Name of the domain for display.';
COMMENT ON COLUMN spectral_question.human_question IS 'Subject that people ranked.';
COMMENT ON COLUMN spectral_question.human_score IS 'Mean rank that people gave, 1 to 9; low means common across countries.';
COMMENT ON COLUMN spectral_question.human_sd IS 'Standard deviation of those ranks.';
COMMENT ON COLUMN spectral_question.human_category IS 'Expected category: effective rank, then spectral gap ratio, each High or Low.';
