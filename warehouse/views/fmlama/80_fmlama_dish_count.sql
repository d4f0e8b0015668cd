CREATE OR REPLACE VIEW fmlama_dish_count AS
WITH counted AS (
    SELECT r.config_hash, p.main_language, p.origin, count(DISTINCT p.dish) AS n_dishes
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.main_language = p.subject_language
    GROUP BY ALL
)
SELECT config_hash, row_number() OVER (PARTITION BY config_hash ORDER BY main_language, origin) AS place,
    main_language, origin, n_dishes
FROM counted;

COMMENT ON VIEW fmlama_dish_count IS 'Number of dishes of each origin, by prompt language.';
COMMENT ON COLUMN fmlama_dish_count.place IS 'Order in the configuration, from 1: by language and origin.';
COMMENT ON COLUMN fmlama_dish_count.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_dish_count.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_dish_count.n_dishes IS 'Number of dishes.';
