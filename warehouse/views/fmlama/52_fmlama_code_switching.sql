CREATE OR REPLACE VIEW fmlama_code_switching AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY is_null, model, main_language, subject_language
    ) AS place,
    model, is_null, main_language, subject_language, map, ci_low, ci_high, null_map,
    map - any_value(map) FILTER (subject_language = main_language)
        OVER (PARTITION BY run_id, main_language) AS change, run_id
FROM leaderboard_fmlama
WHERE NOT country_mentioned;

COMMENT ON VIEW fmlama_code_switching IS 'The matrix P(main language, subject language): mAP of every pair of languages, one row per pair, without the country.';
COMMENT ON COLUMN fmlama_code_switching.place IS 'Order in the configuration, from 1: models, then baselines, by language.';
COMMENT ON COLUMN fmlama_code_switching.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_code_switching.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_code_switching.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_code_switching.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_code_switching.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_code_switching.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN fmlama_code_switching.change IS 'map minus the map of prompts wholly in the main language.';
