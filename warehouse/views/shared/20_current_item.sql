CREATE OR REPLACE VIEW current_item AS
SELECT l.item_list, i.list_hash, i.position, i.item, i.aliases, i.countries, i.ingredients, i.code
FROM item AS i
JOIN item_list AS l USING (list_hash)
WHERE l.is_current;

COMMENT ON VIEW current_item IS 'Items of the current version of each item list, which a run started now would score.';
COMMENT ON COLUMN current_item.item_list IS 'Name of the list: domain.item_list.';
COMMENT ON COLUMN current_item.list_hash IS 'Version of the list: item_list.list_hash.';
COMMENT ON COLUMN current_item.position IS 'Place in the list as loaded, from 0.';
COMMENT ON COLUMN current_item.item IS 'Text that is scored.';
COMMENT ON COLUMN current_item.aliases IS 'Other names; not scored.';
COMMENT ON COLUMN current_item.countries IS 'Countries that the reference has the item for.';
COMMENT ON COLUMN current_item.ingredients IS 'Ingredients of a dish; empty for other lists.';
COMMENT ON COLUMN current_item.code IS 'ISO code of a language or currency; NULL where there is none.';
