-- Ratings arrive after a run is finished, and a run's rows never change. So these rows are computed when they are read:
-- our readers pass them in a variable to a query that names this view (deployments/show/rectified.py).
CREATE OR REPLACE VIEW rectified AS
SELECT one->>'evaluation' AS evaluation, one->>'config_hash' AS config_hash, one->>'model' AS model, one->>'metric' AS metric,
    one->>'source' AS source, (one->>'value')::DOUBLE AS value, (one->>'ci_low')::DOUBLE AS ci_low,
    (one->>'ci_high')::DOUBLE AS ci_high, (one->>'raw_value')::DOUBLE AS raw_value, (one->>'gap')::DOUBLE AS gap,
    (one->>'null_value')::DOUBLE AS null_value, (one->>'is_beyond_null')::BOOLEAN AS is_beyond_null,
    (one->>'n_labels')::BIGINT AS n_labels, (one->>'n_judged')::BIGINT AS n_judged, (one->>'weight')::DOUBLE AS weight,
    (one->>'correlation')::DOUBLE AS correlation, one->>'pooled' AS pooled, one->>'unscored_reason' AS unscored_reason,
    one->>'ratings' AS ratings, one->>'run_id' AS run_id
FROM (SELECT unnest(getvariable('rectified_means')::VARCHAR[])::JSON AS one);

COMMENT ON VIEW rectified IS 'Means of judges'' scores beside the same means rectified by people''s ratings of a drawn sample (docs/intervals.md), of the newest runs whose answers people rated. Computed when it is read, so only by culturemeter sql, Python and the pages; other programs find no rows.';
COMMENT ON COLUMN rectified.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN rectified.metric IS 'Judged headline, metric.metric, with _rectified after it.';
COMMENT ON COLUMN rectified.source IS 'Empty for the model''s own answers, else the null texts, such as shuffled.';
COMMENT ON COLUMN rectified.value IS 'Mean that people would give, estimated from all verdicts and from people''s ratings of a sample.';
COMMENT ON COLUMN rectified.ci_low IS 'Lower end of the 95 % interval; NULL with unscored_reason.';
COMMENT ON COLUMN rectified.ci_high IS 'Upper end of the 95 % interval; NULL with unscored_reason.';
COMMENT ON COLUMN rectified.raw_value IS 'Mean of the judge alone, as on the leaderboard.';
COMMENT ON COLUMN rectified.gap IS 'raw_value less value: above 0, the judge scores higher than people.';
COMMENT ON COLUMN rectified.null_value IS 'Best rectified null; NULL unless people rated all judged null texts'' samples.';
COMMENT ON COLUMN rectified.is_beyond_null IS 'Whether the rectified interval is beyond the rectified null; NULL if either is missing.';
COMMENT ON COLUMN rectified.n_labels IS 'Number of answers that people rated.';
COMMENT ON COLUMN rectified.n_judged IS 'Number of judged answers.';
COMMENT ON COLUMN rectified.weight IS 'Weight of the judge, from 0, people''s ratings alone, to 1.';
COMMENT ON COLUMN rectified.correlation IS 'Correlation of people''s ratings and the judge''s scores within languages; NULL if either does not vary.';
COMMENT ON COLUMN rectified.pooled IS 'Why all languages have one correction; NULL if each has its own.';
COMMENT ON COLUMN rectified.unscored_reason IS 'Why there is no interval, or no number; NULL if there is one.';
COMMENT ON COLUMN rectified.ratings IS 'Hash of the ratings: another rating gives another hash.';
