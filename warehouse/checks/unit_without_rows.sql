-- A registered unit whose part does not show as many rows as registered: verify_parts() sets it right.
WITH found AS (
    SELECT 'item_logprob' AS kind, request_hash, country AS unit, part, count(*) AS n_found
    FROM item_logprob
    GROUP BY ALL
    UNION ALL
    SELECT 'country_similarity', request_hash, domain, part, count(*)
    FROM country_similarity
    GROUP BY ALL
    UNION ALL
    SELECT 'candidate_score', request_hash, prompt, part, count(*)
    FROM candidate_score
    GROUP BY ALL
    UNION ALL
    SELECT 'response', request_hash, item, part, count(*)
    FROM response
    GROUP BY ALL
    UNION ALL
    SELECT 'embedding', request_hash, text_hash, part, count(*)
    FROM embedding
    GROUP BY ALL
    UNION ALL
    -- These answer for their run, and their views cut the unit into columns.
    SELECT 'prediction', run_id, concat_ws(':', main_language, subject_language, if(country_mentioned, 'yes', 'no')),
        part, count(*)
    FROM prediction
    GROUP BY ALL
    UNION ALL
    SELECT 'verdict', request_hash, item, part, count(*)
    FROM verdict
    GROUP BY ALL
    UNION ALL
    SELECT 'worldwise_answer', run_id, config_hash, part, count(*)
    FROM worldwise_answer
    GROUP BY ALL
    UNION ALL
    SELECT 'cure_answer', run_id, config_hash, part, count(*)
    FROM cure_answer
    GROUP BY ALL
)
SELECT u.kind, u.request_hash, u.unit, u.part, u.n_rows, coalesce(f.n_found, 0) AS n_found
FROM part_unit AS u
LEFT JOIN found AS f USING (kind, request_hash, unit, part)
WHERE u.n_rows <> coalesce(f.n_found, 0);
