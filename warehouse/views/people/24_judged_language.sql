CREATE OR REPLACE VIEW judged_language AS
SELECT DISTINCT 'culturall' AS evaluation, item, language FROM culturall_answer
UNION
SELECT evaluation, item, content->>'language' FROM evaluation_item WHERE content->>'language' <> '';

COMMENT ON VIEW judged_language IS 'Language of the items of evaluations that have items in several languages; other items have no row.';
COMMENT ON COLUMN judged_language.item IS 'Item: verdict.item.';
COMMENT ON COLUMN judged_language.language IS 'Language of the item.';
