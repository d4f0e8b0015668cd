CREATE OR REPLACE VIEW fmlama_frequent_error AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY is_null, model, main_language, country_mentioned, origin, rank
    ) AS place,
    model, is_null, main_language, country_mentioned, origin, candidate, outcome, times, share, rank
FROM fmlama_errors
WHERE rank <= 5 AND main_language = subject_language;

COMMENT ON VIEW fmlama_frequent_error IS 'The five most frequent false predictions of every model and origin, where sentence and dish are in one language.';
COMMENT ON COLUMN fmlama_frequent_error.place IS 'Order in the configuration, from 1: models, then baselines; within each model, by condition, origin and rank.';
COMMENT ON COLUMN fmlama_frequent_error.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_frequent_error.country_mentioned IS 'Whether the sentence names the country of origin.';
COMMENT ON COLUMN fmlama_frequent_error.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_frequent_error.candidate IS 'Prediction.';
COMMENT ON COLUMN fmlama_frequent_error.outcome IS 'local: an ingredient of other dishes of the origin; foreign: an ingredient of none of them.';
COMMENT ON COLUMN fmlama_frequent_error.times IS 'Number of times, over all templates.';
COMMENT ON COLUMN fmlama_frequent_error.share IS 'Share of the origin''s false predictions.';
COMMENT ON COLUMN fmlama_frequent_error.rank IS 'Rank, from 1 (most frequent) to 5.';
