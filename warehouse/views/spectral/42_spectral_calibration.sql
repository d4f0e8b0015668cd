-- The same weights, countries and items both ways: only then do the numbers differ by the way alone.
CREATE OR REPLACE VIEW spectral_calibration AS
WITH both_ways AS (
    SELECT r.config_hash, r.model, r.model_hash, r.run_id, run.item_lists, coalesce(run.params->>'elicit', '') IN ('sampling', 'constrained') AS is_sampled,
        run.params->'countries' AS countries, (run.params->>'draws')::INTEGER AS draws
    FROM latest_run AS r
    JOIN run USING (run_id)
    WHERE r.evaluation = 'spectral' AND NOT r.is_null
), spectrum AS (
    SELECT run_id, slice AS question, any_value(value) FILTER (metric = 'effective_rank') AS er,
        any_value(value) FILTER (metric = 'spectral_gap_ratio') AS sr
    FROM metric_value
    WHERE slice_kind = 'question' AND metric IN ('effective_rank', 'spectral_gap_ratio')
    GROUP BY run_id, slice
), scored AS (
    SELECT * FROM both_ways WHERE NOT is_sampled
    QUALIFY row_number() OVER (PARTITION BY model_hash, item_lists, countries ORDER BY config_hash) = 1
)
SELECT s.config_hash,
    row_number() OVER (PARTITION BY s.config_hash ORDER BY s.model, x.question) AS place, s.model, s.draws, x.question, x.er AS sampled_er, y.er AS effective_rank, x.sr AS sampled_sr,
    y.sr AS spectral_gap_ratio, p.config_hash AS scored_config_hash
FROM both_ways AS s
JOIN scored AS p ON p.model_hash = s.model_hash AND p.item_lists = s.item_lists
    AND p.countries IS NOT DISTINCT FROM s.countries
JOIN spectrum AS x ON x.run_id = s.run_id
JOIN spectrum AS y ON y.run_id = p.run_id AND y.question = x.question
WHERE s.is_sampled AND x.er IS NOT NULL AND y.er IS NOT NULL
ORDER BY s.config_hash, place;

COMMENT ON VIEW spectral_calibration IS 'Effective rank and gap ratio of the same model from written answers and from log-probabilities, for the same questions, countries and items. Their order over questions may be compared, their size may not: fewer draws give more patterns.';
COMMENT ON COLUMN spectral_calibration.config_hash IS 'Configuration of the written answers.';
COMMENT ON COLUMN spectral_calibration.place IS 'Order in the configuration, from 1: by model and question.';
COMMENT ON COLUMN spectral_calibration.model IS 'Model.';
COMMENT ON COLUMN spectral_calibration.draws IS 'Answers for each country and question.';
COMMENT ON COLUMN spectral_calibration.question IS 'Question: question.question.';
COMMENT ON COLUMN spectral_calibration.sampled_er IS 'Effective rank of the written answers.';
COMMENT ON COLUMN spectral_calibration.effective_rank IS 'Effective rank of the log-probabilities.';
COMMENT ON COLUMN spectral_calibration.sampled_sr IS 'Gap ratio of the written answers.';
COMMENT ON COLUMN spectral_calibration.spectral_gap_ratio IS 'Gap ratio of the log-probabilities.';
COMMENT ON COLUMN spectral_calibration.scored_config_hash IS 'Configuration of the log-probabilities.';
