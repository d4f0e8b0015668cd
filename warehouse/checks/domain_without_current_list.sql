-- Domains whose item list has no current version, or several: a run would not know which items to score.
SELECT d.domain, d.item_list, count(l.list_hash) AS n_current
FROM domain AS d
LEFT JOIN item_list AS l ON l.item_list = d.item_list AND l.is_current
GROUP BY ALL
HAVING n_current <> 1;
