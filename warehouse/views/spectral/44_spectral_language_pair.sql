CREATE OR REPLACE VIEW spectral_language_pair AS
WITH wide AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, split_part(v.slice, '/', 1) AS language_a, split_part(v.slice, '/', 2) AS language_b,
        any_value(v.value) FILTER (v.metric = 'language_agreement') AS language_agreement,
        any_value(v.ci_low) FILTER (v.metric = 'language_agreement') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'language_agreement') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'language_agreement_p') AS p_adjusted,
        any_value(v.n_scored) FILTER (v.metric = 'language_agreement') AS n_domains,
        any_value(v.value) FILTER (v.metric = 'er_agreement') AS er_agreement,
        any_value(v.null_value) FILTER (v.metric = 'er_agreement') AS null_er_agreement,
        any_value(v.value) FILTER (v.metric = 'order_agreement') AS order_agreement,
        any_value(v.null_value) FILTER (v.metric = 'order_agreement') AS null_order_agreement
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND v.slice_kind = 'language_pair'
    GROUP BY ALL
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY is_null, model, language_a <> 'en', language_a, language_b) AS place,
    * EXCLUDE (config_hash, run_id), run_id
FROM wide;

COMMENT ON VIEW spectral_language_pair IS 'Agreement of a model''s answers in two languages: on which countries are alike, on effective ranks, on the order of domains. A model that translates the question first cannot be told apart.';
COMMENT ON COLUMN spectral_language_pair.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_language_pair.place IS 'Order in the configuration, from 1: models, then null models; within each, English first, then by code.';
COMMENT ON COLUMN spectral_language_pair.model IS 'Model.';
COMMENT ON COLUMN spectral_language_pair.is_null IS 'Whether the row is of a null model.';
COMMENT ON COLUMN spectral_language_pair.language_a IS 'First language, ISO 639-1.';
COMMENT ON COLUMN spectral_language_pair.language_b IS 'Second language.';
COMMENT ON COLUMN spectral_language_pair.language_agreement IS 'Spearman''s correlation of the similarities between countries, mean over domains; 0 for shuffled countries; NULL if unscored.';
COMMENT ON COLUMN spectral_language_pair.ci_low IS 'Lower end of the 95 % interval of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.ci_high IS 'Upper end of the 95 % interval of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.p_adjusted IS 'One-sided p of shuffled countries, adjusted for all pairs of languages.';
COMMENT ON COLUMN spectral_language_pair.n_domains IS 'Number of domains of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.er_agreement IS 'Spearman''s correlation of effective ranks over questions.';
COMMENT ON COLUMN spectral_language_pair.null_er_agreement IS 'Agreement with one language''s countries shuffled within each item, which leaves what lists and items give.';
COMMENT ON COLUMN spectral_language_pair.order_agreement IS 'Spearman''s correlation of the orders of domains by gap ratio.';
COMMENT ON COLUMN spectral_language_pair.null_order_agreement IS 'Agreement with one language''s countries shuffled within each item, which leaves what lists and items give.';
COMMENT ON COLUMN spectral_language_pair.run_id IS 'Run: run.run_id.';
