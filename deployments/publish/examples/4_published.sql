-- Numbers that papers print
SELECT *
FROM published_result
ORDER BY ALL
LIMIT 100
