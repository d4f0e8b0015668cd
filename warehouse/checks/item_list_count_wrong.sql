-- Item lists whose n_items differs from their number of items.
SELECT l.list_hash, l.item_list, l.n_items, count(i.item) AS n_stored
FROM item_list AS l
LEFT JOIN item AS i USING (list_hash)
GROUP BY ALL
HAVING n_stored <> l.n_items;
