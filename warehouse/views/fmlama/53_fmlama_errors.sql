CREATE OR REPLACE VIEW fmlama_errors AS
WITH counted AS (
    SELECT r.config_hash, r.model, r.is_null, p.main_language, p.subject_language, p.country_mentioned, p.origin,
        p.candidate, p.outcome, count(*) AS times, p.run_id
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.outcome <> 'correct'
    GROUP BY ALL
)
SELECT * EXCLUDE (run_id), times / sum(times) OVER of_origin AS share,
    row_number() OVER (of_origin ORDER BY times DESC, candidate, outcome) AS rank, run_id
FROM counted
WINDOW of_origin AS (PARTITION BY run_id, main_language, subject_language, country_mentioned, origin);

COMMENT ON VIEW fmlama_errors IS 'The false predictions of every model and origin, most frequent first, over all templates.';
COMMENT ON COLUMN fmlama_errors.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_errors.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_errors.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN fmlama_errors.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_errors.candidate IS 'False prediction.';
COMMENT ON COLUMN fmlama_errors.outcome IS 'local: an ingredient of other dishes of the origin (fine confusion); foreign: an ingredient of none of them (coarse confusion).';
COMMENT ON COLUMN fmlama_errors.times IS 'Number of times.';
COMMENT ON COLUMN fmlama_errors.share IS 'Share of the origin''s false predictions.';
COMMENT ON COLUMN fmlama_errors.rank IS 'Place among the origin''s false predictions, from 1.';
