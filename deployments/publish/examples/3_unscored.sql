-- Which numbers could not be scored, and why?
SELECT model, metric, unscored_reason, count(*) AS numbers, sum(n_unscored) AS points
FROM metric_value
WHERE value IS NULL
GROUP BY ALL
ORDER BY points DESC
