-- An item of a current list that names a country which the table country lacks.
WITH named AS (SELECT item_list, item, unnest(countries) AS country FROM current_item)
SELECT item_list, item, country
FROM named
ANTI JOIN country USING (country);
