-- The first language of a configuration has its numbers in the overall slice, the others each in a slice.
CREATE OR REPLACE VIEW spectral_language AS
WITH chosen AS (
    SELECT run_id, if(list_contains(codes, 'en'), 'en', list_min(codes)) AS first_language
    FROM (SELECT run_id, (params->'languages')::VARCHAR[] AS codes FROM run WHERE evaluation = 'spectral')
    WHERE len(list_distinct(codes)) > 1
), numbers AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, if(v.slice_kind = 'overall', c.first_language, v.slice) AS language,
        v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored
    FROM latest_run AS r
    JOIN chosen AS c USING (run_id)
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.slice_kind IN ('overall', 'language')
), wide AS (
    SELECT config_hash, model, is_null, run_id, language,
        any_value(value) FILTER (metric = 'macro_f1') AS macro_f1,
        any_value(ci_low) FILTER (metric = 'macro_f1') AS ci_low,
        any_value(ci_high) FILTER (metric = 'macro_f1') AS ci_high,
        any_value(null_value) FILTER (metric = 'macro_f1') AS null_macro_f1,
        any_value(n_scored) FILTER (metric = 'macro_f1') AS n_scored,
        any_value(value) FILTER (metric = 'rank_spearman') AS rank_spearman,
        any_value(value) FILTER (metric = 'er_sr_correlation') AS er_sr_correlation,
        any_value(value) FILTER (metric = 'reference_mass') AS reference_mass,
        any_value(null_value) FILTER (metric = 'reference_mass') AS null_reference_mass
    FROM numbers
    GROUP BY ALL
), named AS (
    SELECT code, any_value(item) AS name FROM current_item WHERE item_list = 'languages' AND code IS NOT NULL GROUP BY code
)
SELECT w.config_hash,
    row_number() OVER (PARTITION BY w.config_hash ORDER BY w.is_null, w.model, w.language <> 'en', w.language) AS place,
    w.model, w.is_null, w.language, coalesce(n.name, w.language) AS language_name, w.macro_f1, w.ci_low, w.ci_high, w.null_macro_f1,
    w.n_scored, w.rank_spearman, w.er_sr_correlation, w.reference_mass, w.null_reference_mass, w.run_id
FROM wide AS w
LEFT JOIN named AS n ON n.code = w.language;

COMMENT ON VIEW spectral_language IS 'Numbers of each language of a configuration with several (--languages), by model; a language without names of dishes has fewer domains, so compare languages by spectral_language_pair. Texts were not checked by speakers.';
COMMENT ON COLUMN spectral_language.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_language.place IS 'Order in the configuration, from 1: models, then null models; within each, English first, then by code.';
COMMENT ON COLUMN spectral_language.model IS 'Model.';
COMMENT ON COLUMN spectral_language.is_null IS 'Whether the row is of a null model.';
COMMENT ON COLUMN spectral_language.language IS 'Language of the questions, ISO 639-1.';
COMMENT ON COLUMN spectral_language.language_name IS 'Its name in English.';
COMMENT ON COLUMN spectral_language.macro_f1 IS 'Mean F1 of the ER-SR categories against people''s, over the domains of the language; NULL if unscored.';
COMMENT ON COLUMN spectral_language.ci_low IS 'Lower end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN spectral_language.ci_high IS 'Upper end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN spectral_language.null_macro_f1 IS 'Expected macro_f1 of one random category per domain.';
COMMENT ON COLUMN spectral_language.n_scored IS 'Number of questions from which macro_f1 is computed.';
COMMENT ON COLUMN spectral_language.rank_spearman IS 'Spearman''s rho between the model''s and people''s order of domains.';
COMMENT ON COLUMN spectral_language.er_sr_correlation IS 'Correlation of ER and SR over questions.';
COMMENT ON COLUMN spectral_language.reference_mass IS 'Mean probability of the items that the reference has for the country.';
COMMENT ON COLUMN spectral_language.null_reference_mass IS 'Mean probability of those items under another country''s answer.';
COMMENT ON COLUMN spectral_language.run_id IS 'Run: run.run_id.';
