-- The shipped dishes are in English only and have no Wikidata entity.
CREATE OR REPLACE VIEW fmlama_dish AS
SELECT 'shipped' AS dish_set, 'culturemeter:dish/' || i.item AS url, 'en' AS language, i.item AS name,
    regexp_replace(c.name, '^the ', '') AS origin, c.name AS origin_name, i.ingredients,
    []::VARCHAR[] AS materials, NULL::VARCHAR AS image
FROM current_item AS i
JOIN country AS c ON i.countries = [c.country]
WHERE i.item_list = 'dishes' AND len(i.ingredients) > 0
UNION ALL
SELECT dish_set, url, language, name, origin, origin_name, ingredients, materials, image
FROM dish;

COMMENT ON VIEW fmlama_dish IS 'All dishes with ingredients and one country of origin, in all languages: the shipped set, and those loaded by culturemeter ingest.';
COMMENT ON COLUMN fmlama_dish.dish_set IS 'Collection: "shipped", or dish_set.dish_set.';
COMMENT ON COLUMN fmlama_dish.url IS 'Wikidata entity, or an identifier of the shipped dish.';
COMMENT ON COLUMN fmlama_dish.language IS 'Language of name, ingredients and materials.';
COMMENT ON COLUMN fmlama_dish.name IS 'Name of the dish.';
COMMENT ON COLUMN fmlama_dish.origin IS 'Country of origin, in English; the same in all languages.';
COMMENT ON COLUMN fmlama_dish.origin_name IS 'Country of origin as it stands in a sentence of the row''s language; NULL if unknown.';
COMMENT ON COLUMN fmlama_dish.ingredients IS 'The reference ingredients.';
COMMENT ON COLUMN fmlama_dish.materials IS 'Source material; not used by metrics.';
COMMENT ON COLUMN fmlama_dish.image IS 'Address of an image; NULL if there is none.';
