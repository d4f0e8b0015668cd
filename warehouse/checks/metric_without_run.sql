-- Numbers whose run is missing or names another model.
SELECT v.run_id, v.model, count(*) AS n_values
FROM metric_value AS v
ANTI JOIN run AS r ON r.run_id = v.run_id AND r.model = v.model
GROUP BY ALL;
