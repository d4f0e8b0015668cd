-- Stored numbers whose metric the table metric lacks.
SELECT v.run_id, r.evaluation, v.metric, count(*) AS n_values
FROM metric_value AS v
JOIN run AS r USING (run_id)
ANTI JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
GROUP BY ALL;
