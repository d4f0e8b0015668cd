-- A rank depends on who else is on the board, so none is stored. Our readers compute the sets of a query that names this
-- view and pass them in a variable (flows/ranks.py); other programs find it empty.
CREATE OR REPLACE VIEW rank_set AS
SELECT one->>'evaluation' AS evaluation, one->>'config_hash' AS config_hash, one->>'metric' AS metric,
    one->>'model' AS model, (one->>'value')::DOUBLE AS value, (one->>'low')::BIGINT AS rank_low,
    (one->>'high')::BIGINT AS rank_high, (one->>'n_models')::BIGINT AS n_models, one->>'reason' AS reason,
    one->>'run_id' AS run_id
FROM (SELECT unnest(getvariable('rank_sets')::VARCHAR[])::JSON AS one);

COMMENT ON VIEW rank_set IS 'The ranks that the data allow each model on every headline, among the newest runs of one configuration: 95 % simultaneously over all pairs (docs/intervals.md). Null models have none. Computed when it is read, so only by culturemeter sql, Python and the pages; other programs find no rows.';
COMMENT ON COLUMN rank_set.config_hash IS 'Configuration: run.config_hash. Ranks are among its models.';
COMMENT ON COLUMN rank_set.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN rank_set.value IS 'The number.';
COMMENT ON COLUMN rank_set.rank_low IS 'Best possible rank, from 1: 1 plus the number of models that are shown to be better.';
COMMENT ON COLUMN rank_set.rank_high IS 'Worst possible rank: n_models less the number of models that are shown to be worse. Models whose ranges overlap are not ordered.';
COMMENT ON COLUMN rank_set.n_models IS 'Number of models with a value: those that share the ranks.';
COMMENT ON COLUMN rank_set.reason IS 'Why no two models can be told apart; NULL if the data could do it.';
