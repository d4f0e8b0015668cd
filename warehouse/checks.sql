-- domain_without_current_list: Domains whose item list has no current version, or several: a run would not know which items to score.
SELECT d.domain, d.item_list, count(l.list_hash) AS n_current
FROM domain AS d
LEFT JOIN item_list AS l ON l.item_list = d.item_list AND l.is_current
GROUP BY ALL
HAVING n_current <> 1;

-- item_country_unknown: Items of a current list with a country that the table country lacks.
WITH named AS (SELECT item_list, item, unnest(countries) AS country FROM current_item)
SELECT item_list, item, country
FROM named
ANTI JOIN country USING (country);

-- item_list_count_wrong: Item lists whose n_items differs from their number of items.
SELECT l.list_hash, l.item_list, l.n_items, count(i.item) AS n_stored
FROM item_list AS l
LEFT JOIN item AS i USING (list_hash)
GROUP BY ALL
HAVING n_stored <> l.n_items;

-- item_repeated: Items of one list that differ only in case, outer spaces or Unicode form: their probability would be split.
SELECT list_hash, list(item) AS items
FROM item
GROUP BY list_hash, nfc_normalize(lower(trim(item)))
HAVING count(*) > 1;

-- metric_interval_wrong: Intervals whose ends are in the wrong order, or with only one end.
SELECT run_id, metric, slice_kind, slice, value, ci_low, ci_high
FROM metric_value
WHERE ci_low > ci_high OR (ci_low IS NULL) <> (ci_high IS NULL);

-- metric_not_in_catalogue: Stored numbers whose metric the table metric lacks.
SELECT v.run_id, r.evaluation, v.metric, count(*) AS n_values
FROM metric_value AS v
JOIN run AS r USING (run_id)
ANTI JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
GROUP BY ALL;

-- metric_outside_range: Values, interval ends and null values outside the metric's range, beyond rounding.
SELECT v.run_id, v.metric, v.slice_kind, v.slice, v.value, v.ci_low, v.ci_high, v.null_value, m.range_low, m.range_high
FROM metric_value AS v
JOIN run AS r USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
WHERE least(v.value, v.ci_low, v.ci_high, v.null_value) < m.range_low - 1e-9
    OR greatest(v.value, v.ci_low, v.ci_high, v.null_value) > m.range_high + 1e-9;

-- metric_without_run: Numbers whose run is missing or names another model.
SELECT v.run_id, v.model, count(*) AS n_values
FROM metric_value AS v
ANTI JOIN run AS r ON r.run_id = v.run_id AND r.model = v.model
GROUP BY ALL;

-- question_without_domain: Questions whose domain the table domain lacks.
SELECT question, domain
FROM question
ANTI JOIN domain USING (domain);

-- request_without_run: Planned requests whose run is missing.
SELECT run_id, request_hash
FROM run_request
ANTI JOIN run USING (run_id);

-- unit_without_rows: Registered units whose part has another number of rows than registered: `culturemeter check` repairs them.
SELECT u.kind, u.request_hash, u.unit, u.part, u.n_rows, coalesce(s.n_rows, 0) AS n_shown
FROM part_unit AS u
LEFT JOIN unit_rows AS s USING (kind, request_hash, unit, part)
WHERE u.n_rows <> n_shown;
