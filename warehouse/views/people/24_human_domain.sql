-- A score below the median of the study's domains is a high spectral gap ratio, as in table 1 of the paper.
CREATE OR REPLACE VIEW human_domain AS
WITH score AS (
    SELECT study, entry AS domain, avg(number) AS human_score, stddev_samp(number) AS human_sd, count(*) AS n_people
    FROM human_rating WHERE kind = 'spectral-ranking' AND field = 'ranking'
    GROUP BY study, entry
), pluralism AS (
    SELECT study, entry AS domain, avg((value = 'high')::INTEGER) AS share_high, count(*) AS n_annotators
    FROM human_rating WHERE kind = 'spectral-ranking' AND field = 'pluralism'
    GROUP BY study, entry
)
SELECT s.study, s.domain, s.human_score, s.human_sd, s.n_people, p.share_high,
    coalesce(p.n_annotators, 0) AS n_annotators,
    CASE WHEN p.share_high <> 0.5 THEN
        if(p.share_high > 0.5, 'H', 'L')
        || if(s.human_score < median(s.human_score) OVER (PARTITION BY s.study), 'H', 'L')
    END AS human_category
FROM score AS s
LEFT JOIN pluralism AS p USING (study, domain);

COMMENT ON VIEW human_domain IS 'What people of a ranking study expect of each domain: as domain.human_score and domain.human_category, for culturescope run spectral --human STUDY.';
COMMENT ON COLUMN human_domain.study IS 'Study: study.study.';
COMMENT ON COLUMN human_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN human_domain.human_score IS 'Mean rank; low means common across countries.';
COMMENT ON COLUMN human_domain.human_sd IS 'Standard deviation of the ranks; NULL for one person.';
COMMENT ON COLUMN human_domain.n_people IS 'People who ranked it.';
COMMENT ON COLUMN human_domain.share_high IS 'Share of those who annotated its pluralism who say that a country has many answers; NULL if nobody did.';
COMMENT ON COLUMN human_domain.n_annotators IS 'People who annotated its pluralism.';
COMMENT ON COLUMN human_domain.human_category IS 'Expected category: effective rank by what most say of its pluralism, spectral gap ratio by its score; NULL if nobody annotated it or people are tied.';
