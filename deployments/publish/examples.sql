-- Every model on every headline number
SELECT evaluation, label, model, value, ci_low, ci_high, null_value, n_scored, n_unscored, is_beyond_null
FROM model_scores
ORDER BY evaluation, label, value DESC

-- Do evaluations rank models in the same order?
SELECT evaluation, label, other_evaluation, other_label, n_models, rho, ci_low, ci_high, least_rho
FROM evaluation_agreement
ORDER BY abs(rho) DESC NULLS LAST

-- Which numbers could not be scored, and why?
SELECT model, metric, unscored_reason, count(*) AS numbers, sum(n_unscored) AS points
FROM metric_value
WHERE value IS NULL
GROUP BY ALL
ORDER BY points DESC

-- Numbers that papers print
SELECT *
FROM published_result
ORDER BY ALL
LIMIT 100
