CREATE OR REPLACE VIEW spectral_own_language AS
WITH wide AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, v.slice AS country,
        any_value(v.value) FILTER (v.metric = 'own_language_advantage') AS advantage,
        any_value(v.ci_low) FILTER (v.metric = 'own_language_advantage') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'own_language_advantage') AS ci_high,
        any_value(v.null_value) FILTER (v.metric = 'own_language_advantage') AS null_advantage,
        any_value(v.value) FILTER (v.metric = 'own_language_p') AS p_holm,
        any_value(v.n_scored) FILTER (v.metric = 'own_language_advantage') AS n_scored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND v.metric IN ('own_language_advantage', 'own_language_p') AND v.slice_kind = 'country'
    GROUP BY ALL
), spoken AS (
    SELECT country, first(language ORDER BY percent DESC, language) AS language FROM country_language
    WHERE status IN ('official', 'de_facto_official') GROUP BY country
)
SELECT w.config_hash,
    row_number() OVER (PARTITION BY w.config_hash ORDER BY w.is_null, w.model, s.language, w.country) AS place,
    w.model, w.is_null, w.country, c.name, c.region, s.language, w.advantage, w.ci_low, w.ci_high, w.null_advantage, w.p_holm,
    w.n_scored, w.run_id
FROM wide AS w
JOIN country AS c ON c.country = w.country
LEFT JOIN spoken AS s ON s.country = w.country;

COMMENT ON VIEW spectral_own_language IS 'Gain of the probability of a country''s own items when asked in its main language, against English; one row per model and country whose main language is in the configuration.';
COMMENT ON COLUMN spectral_own_language.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_own_language.place IS 'Order in the configuration, from 1: models, then null models; within each, by language and country.';
COMMENT ON COLUMN spectral_own_language.model IS 'Model.';
COMMENT ON COLUMN spectral_own_language.is_null IS 'Whether the row is of a null model.';
COMMENT ON COLUMN spectral_own_language.country IS 'Country: country.country.';
COMMENT ON COLUMN spectral_own_language.name IS 'Its name: country.name.';
COMMENT ON COLUMN spectral_own_language.region IS 'Its region: country.region.';
COMMENT ON COLUMN spectral_own_language.language IS 'Its main language: the official one that most people speak, ISO 639-1.';
COMMENT ON COLUMN spectral_own_language.advantage IS 'Probability of its own items in that language less that in English, mean over domains and wordings; NULL if unscored.';
COMMENT ON COLUMN spectral_own_language.ci_low IS 'Lower end of the 95 % interval over wordings.';
COMMENT ON COLUMN spectral_own_language.ci_high IS 'Upper end of that interval.';
COMMENT ON COLUMN spectral_own_language.null_advantage IS 'Mean of this difference, in that language, over the countries whose main language it is not.';
COMMENT ON COLUMN spectral_own_language.p_holm IS 'Two-sided p of the advantage, adjusted by Holm for all countries of the configuration with such a language; NULL: no test.';
COMMENT ON COLUMN spectral_own_language.n_scored IS 'Number of questions that it is over.';
COMMENT ON COLUMN spectral_own_language.run_id IS 'Run: run.run_id.';
