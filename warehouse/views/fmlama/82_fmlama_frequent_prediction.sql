CREATE OR REPLACE VIEW fmlama_frequent_prediction AS
WITH counted AS (
    SELECT r.config_hash, p.model, p.main_language, p.country_mentioned, p.candidate, count(*) AS times,
        count(*) FILTER (p.outcome = 'correct') / count(*) AS correct
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.main_language = p.subject_language
    GROUP BY ALL
), ranked AS (
    SELECT *, times / sum(times) OVER same AS share, row_number() OVER (same ORDER BY times DESC, candidate) AS rank
    FROM counted
    WINDOW same AS (PARTITION BY config_hash, model, main_language, country_mentioned)
    QUALIFY rank <= 5
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY model, main_language, country_mentioned, rank) AS place,
    model, main_language, country_mentioned, candidate, times, share, correct, rank
FROM ranked;

COMMENT ON VIEW fmlama_frequent_prediction IS 'The five candidates that each model predicts most often, right or wrong, where sentence and dish are in one language.';
COMMENT ON COLUMN fmlama_frequent_prediction.place IS 'Order in the configuration, from 1: by model, condition and rank.';
COMMENT ON COLUMN fmlama_frequent_prediction.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_frequent_prediction.country_mentioned IS 'Whether the sentence names the country of origin.';
COMMENT ON COLUMN fmlama_frequent_prediction.candidate IS 'Prediction.';
COMMENT ON COLUMN fmlama_frequent_prediction.times IS 'Number of times, over all dishes and templates.';
COMMENT ON COLUMN fmlama_frequent_prediction.share IS 'Share of all predictions of the condition.';
COMMENT ON COLUMN fmlama_frequent_prediction.correct IS 'Share of these predictions that are right.';
COMMENT ON COLUMN fmlama_frequent_prediction.rank IS 'Rank, from 1 (most frequent) to 5.';
