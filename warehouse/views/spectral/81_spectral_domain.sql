CREATE OR REPLACE VIEW spectral_domain AS
WITH scored AS (
    SELECT r.config_hash, q.topic AS domain, max(u.n_rows) AS n_items
    FROM latest_run AS r
    JOIN run_request AS q USING (run_id)
    JOIN part_unit AS u ON u.request_hash = q.request_hash AND u.kind = 'item_logprob'
    WHERE r.evaluation = 'spectral'
    GROUP BY ALL
), asked AS (
    SELECT DISTINCT r.config_hash, q.domain, s.n_items
    FROM latest_run AS r
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.slice_kind = 'question'
    JOIN spectral_question AS q ON q.config_hash = r.config_hash AND q.question = v.slice
    LEFT JOIN scored AS s ON s.config_hash = r.config_hash AND s.domain = q.domain
    WHERE r.evaluation = 'spectral'
)
SELECT asked.config_hash,
    row_number() OVER (PARTITION BY asked.config_hash ORDER BY e.human_score, d.domain) AS place,
    d.domain, d.label, asked.n_items, d.human_question, e.human_score, e.human_sd, e.human_category,
    e.human_n
FROM asked
JOIN (SELECT DISTINCT config_hash, domain, label, human_question FROM spectral_question) AS d
    ON d.config_hash = asked.config_hash AND d.domain = asked.domain
JOIN spectral_expected AS e ON e.config_hash = asked.config_hash AND e.domain = d.domain;

COMMENT ON VIEW spectral_domain IS 'Domains of each configuration, with people''s ranking of them.';
COMMENT ON COLUMN spectral_domain.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_domain.place IS 'Order in the configuration, from 1: from common to unique by people''s ranking.';
COMMENT ON COLUMN spectral_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_domain.label IS 'Name of the domain for display.';
COMMENT ON COLUMN spectral_domain.n_items IS 'Number of items that were scored for each country; NULL if none were.';
COMMENT ON COLUMN spectral_domain.human_question IS 'Subject that people ranked.';
COMMENT ON COLUMN spectral_domain.human_score IS 'Mean rank that people gave it; low means common across countries.';
COMMENT ON COLUMN spectral_domain.human_sd IS 'Standard deviation of their ranks.';
COMMENT ON COLUMN spectral_domain.human_category IS 'Category that people expect.';
COMMENT ON COLUMN spectral_domain.human_n IS 'Number of people who ranked; NULL for a domain of a pack, whose author set the expectation.';
