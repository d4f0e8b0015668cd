-- Items of a current list with a country that the table country lacks.
WITH named AS (SELECT item_list, item, unnest(countries) AS country FROM current_item)
SELECT item_list, item, country
FROM named
ANTI JOIN country USING (country);
