-- A registered unit whose part does not show as many rows as registered: verify_parts() sets it right.
WITH found AS (
    SELECT 'item_logprob' AS kind, request_hash, country AS unit, part, count(*) AS n_found
    FROM item_logprob
    GROUP BY ALL
    UNION ALL
    SELECT 'country_similarity', request_hash, domain, part, count(*)
    FROM country_similarity
    GROUP BY ALL
)
SELECT u.kind, u.request_hash, u.unit, u.part, u.n_rows, coalesce(f.n_found, 0) AS n_found
FROM part_unit AS u
LEFT JOIN found AS f USING (kind, request_hash, unit, part)
WHERE u.n_rows <> coalesce(f.n_found, 0);
