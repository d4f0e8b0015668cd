-- Content of the column 'dumb' of Zhou et al. 2025, table 1: the ten most common ingredients of all dishes are
-- predicted for each, and the precisions at the hits are divided by the hits, not by the dish's ingredients as
-- in equation 4; a dish without a hit gets 1 / (candidates + 1).
CREATE OR REPLACE VIEW fmlama_paper_baseline AS
WITH said AS (
    SELECT DISTINCT d.dish_set, d.language, d.url, coalesce(g.origin_group, d.origin) AS origin,
        unnest(d.ingredients) AS ingredient
    FROM fmlama_dish AS d
    LEFT JOIN origin_group AS g USING (origin)
), often AS (
    SELECT dish_set, language, ingredient, count(*) AS n FROM said GROUP BY ALL
), common AS (
    SELECT dish_set, language, ingredient, count(*) OVER whole AS n_candidates,
        row_number() OVER (whole ORDER BY n DESC, ingredient) AS place
    FROM often
    WINDOW whole AS (PARTITION BY dish_set, language)
), hit AS (
    SELECT s.*, c.n_candidates, c.place <= 10 AS is_hit,
        CASE WHEN c.place <= 10 THEN row_number() OVER (
            PARTITION BY s.dish_set, s.language, s.url ORDER BY c.place
        ) / c.place ELSE 0 END AS precision
    FROM said AS s
    JOIN common AS c USING (dish_set, language, ingredient)
), dish AS (
    SELECT dish_set, language, url, origin,
        CASE WHEN bool_or(is_hit) THEN sum(precision) / count_if(is_hit)
            ELSE 1 / (any_value(n_candidates) + 1) END AS by_hits,
        sum(precision) / count(*) AS by_ingredients
    FROM hit
    GROUP BY ALL
), counted AS (
    SELECT dish_set, language, if(grouping(origin) = 1, 'ALL', origin) AS origin, count(*) AS n_dishes,
        avg(by_hits) AS dumb, avg(by_ingredients) AS map
    FROM dish
    GROUP BY GROUPING SETS ((dish_set, language, origin), (dish_set, language))
), printed AS (
    SELECT regexp_extract(condition, 'origin=(.*)', 1) AS origin,
        (any_value(value) FILTER (metric = 'Count'))::INTEGER AS paper_dishes,
        any_value(value) FILTER (model = 'Dumb Base') / 100 AS paper_dumb
    FROM published_result
    WHERE paper = 'fmlama' AND table_name = 'Table 1(a)' AND condition IS NOT NULL
    GROUP BY ALL
)
SELECT counted.*, if(language = 'en', paper_dishes, NULL) AS paper_dishes,
    if(language = 'en', paper_dumb, NULL) AS paper_dumb
FROM counted
LEFT JOIN printed USING (origin)
ORDER BY dish_set, language, origin = 'ALL' DESC, n_dishes DESC, origin;

COMMENT ON VIEW fmlama_paper_baseline IS 'The baseline ''dumb'' of Zhou et al. 2025, table 1, on the dishes in this warehouse: the ten most common ingredients, the same for every dish. Not comparable with any model''s map: see the column dumb.';
COMMENT ON COLUMN fmlama_paper_baseline.dish_set IS 'Collection of dishes: fmlama_dish.dish_set.';
COMMENT ON COLUMN fmlama_paper_baseline.language IS 'Language of the ingredients.';
COMMENT ON COLUMN fmlama_paper_baseline.origin IS 'Cultural group of the paper, or the country of origin if it is in no group; ALL: every dish.';
COMMENT ON COLUMN fmlama_paper_baseline.n_dishes IS 'Number of dishes.';
COMMENT ON COLUMN fmlama_paper_baseline.dumb IS 'Score by the rule of the paper''s column, 0 to 1: sum of the precisions at the hits, divided by the number of hits, so that one hit at rank 1 scores 1.';
COMMENT ON COLUMN fmlama_paper_baseline.map IS 'Score of the ten predictions by equation 4, 0 to 1, which divides by the number of the dish''s ingredients; lower ranks add nothing. The dish itself counts among the dishes, as in the paper; null:common on the leaderboard leaves it out.';
COMMENT ON COLUMN fmlama_paper_baseline.paper_dishes IS 'Dishes of the paper''s table 1; NULL for other languages and origins.';
COMMENT ON COLUMN fmlama_paper_baseline.paper_dumb IS 'Value that table 1 prints, 0 to 1.';
