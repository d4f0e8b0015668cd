-- Ranks are computed for every pair, over the models that have both; 1 is worst, ties share their mean rank. A pair
-- without a model that has both numbers has a row with the reason.
CREATE OR REPLACE VIEW evaluation_agreement AS
WITH scored AS (
    SELECT evaluation, metric, label, model_hash, if(direction = 'lower', -value, value) AS goodness, ci_low, ci_high
    FROM model_scores
    UNION ALL
    SELECT 'external', benchmark, benchmark, model_hash, -place, NULL, NULL
    FROM external_ranking
    WHERE model_hash IS NOT NULL
), apart AS (
    SELECT a.evaluation, a.metric, count_if(a.ci_low > b.ci_high)::BIGINT AS n_apart
    FROM model_scores AS a
    JOIN model_scores AS b USING (evaluation, metric)
    GROUP BY ALL
), pair AS (
    SELECT a.evaluation, a.metric, a.label, b.evaluation AS other_evaluation, b.metric AS other_metric,
        b.label AS other_label, a.model_hash, a.goodness AS x, b.goodness AS y
    FROM scored AS a
    JOIN scored AS b ON a.model_hash = b.model_hash
        AND a.evaluation <> b.evaluation AND a.evaluation <> 'external'
        AND (a.evaluation < b.evaluation OR b.evaluation = 'external')
), ranked AS (
    SELECT *,
        rank() OVER (of_pair ORDER BY x) + (count(*) OVER (PARTITION BY evaluation, metric, other_evaluation, other_metric, x) - 1) / 2 AS x_rank,
        rank() OVER (of_pair ORDER BY y) + (count(*) OVER (PARTITION BY evaluation, metric, other_evaluation, other_metric, y) - 1) / 2 AS y_rank
    FROM pair
    WHERE x IS NOT NULL AND y IS NOT NULL
    WINDOW of_pair AS (PARTITION BY evaluation, metric, other_evaluation, other_metric)
), agreed AS (
    SELECT evaluation, metric, other_evaluation, other_metric, count(*) AS n_models,
        list(x_rank ORDER BY model_hash) AS ranks, list(y_rank ORDER BY model_hash) AS other_ranks,
        count(*) = count(DISTINCT x) AND count(*) = count(DISTINCT y) AS is_untied,
        CASE WHEN count(*) > 2 AND count(DISTINCT x) > 1 AND count(DISTINCT y) > 1
            -- Full agreement is exactly 1, without a rounding error.
            THEN round(corr(x_rank, y_rank), 12) END AS rho
    FROM ranked
    GROUP BY ALL
), asked AS (
    SELECT evaluation, metric, label, other_evaluation, other_metric, other_label, coalesce(n_models, 0) AS n_models,
        coalesce(ranks, []) AS ranks, coalesce(other_ranks, []) AS other_ranks, coalesce(is_untied, false) AS is_untied, rho
    FROM (SELECT DISTINCT evaluation, metric, label, other_evaluation, other_metric, other_label FROM pair)
    LEFT JOIN agreed USING (evaluation, metric, other_evaluation, other_metric)
), inner_agreed AS (
    -- The interval needs |rho| < 1: full agreement counts as the next value that n models can have.
    SELECT *, greatest(least(rho, 1 - 12 / (n_models ** 3 - n_models)), 12 / (n_models ** 3 - n_models) - 1) AS inner_rho,
        n_models - 2 AS df
    FROM asked
), spread AS (
    -- Bonett and Wright (2000) with the t of n - 2 degrees of freedom, here as a series (Fisher and Cornish 1960).
    SELECT *, if(n_models < 5, NULL, (1.959964 + 2.3723 / df + 2.8225 / df ** 2 + 2.5559 / df ** 3)
        * sqrt((1 + inner_rho ** 2 / 2) / (n_models - 3))) AS half
    FROM inner_agreed
)
SELECT spread.evaluation, spread.metric, label, other_evaluation, other_metric, other_label, n_models, rho,
    CASE WHEN n_models >= 5 THEN if(rho = -1, -1, tanh(atanh(inner_rho) - half)) END AS ci_low,
    CASE WHEN n_models >= 5 THEN if(rho = 1, 1, tanh(atanh(inner_rho) + half)) END AS ci_high,
    CASE WHEN n_models = 0 THEN 'no model that was run on both has both numbers' WHEN n_models < 3 THEN 'fewer than three models have both' WHEN rho IS NULL THEN 'one of them does not vary' END
        AS unscored_reason,
    least_rho(n_models) AS least_rho, ranks, other_ranks, is_untied, coalesce(own.n_apart, 0) AS n_apart, other.n_apart AS other_n_apart
FROM spread
LEFT JOIN apart AS own ON (own.evaluation, own.metric) = (spread.evaluation, spread.metric)
LEFT JOIN apart AS other ON (other.evaluation, other.metric) = (spread.other_evaluation, spread.other_metric);

COMMENT ON VIEW evaluation_agreement IS 'Agreement of evaluations on the order of models: Spearman''s rho of every two headlines of different evaluations, and of headlines with external rankings, over the models that have both (model_scores). Above 0: models that are better on one tend to be better on the other. Numbers where lower is better are reversed first.';
COMMENT ON COLUMN evaluation_agreement.metric IS 'Headline of the evaluation.';
COMMENT ON COLUMN evaluation_agreement.label IS 'Name of that headline for display.';
COMMENT ON COLUMN evaluation_agreement.other_evaluation IS 'The other evaluation, later in the alphabet; "external": a ranking of external_ranking.';
COMMENT ON COLUMN evaluation_agreement.other_metric IS 'Its headline, or the benchmark.';
COMMENT ON COLUMN evaluation_agreement.other_label IS 'Name of that headline for display.';
COMMENT ON COLUMN evaluation_agreement.n_models IS 'Number of models that have both numbers: read it first. 0: models were run on both, but none has both numbers.';
COMMENT ON COLUMN evaluation_agreement.rho IS 'Spearman''s rho, -1 to 1: 1 is the same order; NULL if there is none. Noise in the scores lowers it.';
COMMENT ON COLUMN evaluation_agreement.ci_low IS 'Lower end of the 95 % interval over models (docs/intervals.md); NULL below five models. It treats the models as a random sample, which they are not.';
COMMENT ON COLUMN evaluation_agreement.ci_high IS 'Upper end of the 95 % interval; NULL below five models.';
COMMENT ON COLUMN evaluation_agreement.unscored_reason IS 'Why there is no rho; NULL if there is one.';
COMMENT ON COLUMN evaluation_agreement.least_rho IS 'Smallest |rho| that is significantly different from 0 for n_models models without ties (two-sided, 5 %, one pair tested): exact below ten models, else at most 0.005 too high. NULL below five models, for which no rho is significant.';
COMMENT ON COLUMN evaluation_agreement.ranks IS 'Ranks of the models on the headline, from 1 (worst); ties share their mean rank.';
COMMENT ON COLUMN evaluation_agreement.other_ranks IS 'Ranks of the same models, in the same order, on the other.';
COMMENT ON COLUMN evaluation_agreement.is_untied IS 'Whether all models differ on both; with ties least_rho is not exact.';
COMMENT ON COLUMN evaluation_agreement.n_apart IS 'Number of pairs of models whose intervals on the first headline do not overlap. 0: the headline separates no models, so its order may be noise.';
COMMENT ON COLUMN evaluation_agreement.other_n_apart IS 'Value of n_apart for the other headline; NULL for an external ranking, which has no intervals.';
