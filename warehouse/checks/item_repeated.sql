-- Items of one list that differ only in case, outer spaces or Unicode form: their probability would be split.
SELECT list_hash, list(item) AS items
FROM item
GROUP BY list_hash, nfc_normalize(lower(trim(item)))
HAVING count(*) > 1;
