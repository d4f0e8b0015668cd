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

-- Naming common ingredients beats a random ranking without knowing a dish. mAP has a paired gain over that; other
-- numbers have to exceed the sides of both intervals combined, as for independent numbers (Zou and Donner 2008).
CREATE OR REPLACE VIEW fmlama_doubt AS
WITH own AS (
    SELECT v.run_id, r.config_hash, v.metric, v.value, v.ci_low
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'fmlama' AND NOT r.is_null AND v.slice_kind = 'overall'
), common AS (
    SELECT n.config_hash, n.model, v.metric, v.value, coalesce(v.ci_high, v.value) AS highest
    FROM latest_run AS n
    JOIN metric_value AS v USING (run_id)
    WHERE n.evaluation = 'fmlama' AND n.is_null AND v.metric IN ('mws', 'mes') AND v.slice_kind = 'overall'
)
SELECT run_id, 'map' AS metric, 'not shown to beat the best baseline' AS reason
FROM own
WHERE metric = 'map_gain' AND value IS NOT NULL AND NOT coalesce(ci_low > 0, false)
UNION ALL
SELECT run_id, metric, format('{} scores {:.2f}, not clearly less', c.model, c.value)
FROM own
JOIN common AS c USING (config_hash, metric)
WHERE own.value - c.value <= sqrt((own.value - own.ci_low) ** 2 + (c.highest - c.value) ** 2);

COMMENT ON VIEW fmlama_doubt IS 'Rows that fmlama adds to the view doubt: scores that are also reached by naming common ingredients.';
COMMENT ON COLUMN fmlama_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW leaderboard_fmlama AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null,
        split_part(v.slice, ':', 1) AS main_language, split_part(v.slice, ':', 2) AS subject_language,
        split_part(v.slice, ':', 3) = 'yes' AS country_mentioned,
        any_value(v.value) FILTER (v.metric = 'map') AS map,
        any_value(v.ci_low) FILTER (v.metric = 'map') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'map') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'map_sd') AS map_sd,
        any_value(v.null_value) FILTER (v.metric = 'map') AS null_map,
        any_value(v.n_scored) FILTER (v.metric = 'map') AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric = 'map') AS n_unscored,
        any_value(v.value) FILTER (v.metric = 'map_gain') AS map_gain,
        any_value(v.ci_low) FILTER (v.metric = 'map_gain') AS gain_low,
        any_value(v.ci_high) FILTER (v.metric = 'map_gain') AS gain_high,
        any_value(v.value) FILTER (v.metric = 'mws') AS mws,
        any_value(v.null_value) FILTER (v.metric = 'mws') AS null_mws,
        any_value(v.value) FILTER (v.metric = 'map_cv') AS map_cv,
        any_value(v.value) FILTER (v.metric = 'country_gain') AS country_gain,
        any_value(v.value) FILTER (v.metric = 'country_gain_p') AS country_gain_p,
        any_value(v.value) FILTER (v.metric = 'mes') AS mes,
        any_value(v.null_value) FILTER (v.metric = 'mes') AS null_mes,
        any_value(v.n_scored / nullif(v.n_scored + v.n_unscored, 0)) FILTER (v.metric = 'map') AS coverage,
        any_value(v.value) FILTER (v.metric = 'unspellable_candidates') AS unspellable,
        any_value(v.ci_low) FILTER (v.metric = 'mws') AS mws_low,
        any_value(v.ci_high) FILTER (v.metric = 'mws') AS mws_high,
        any_value(v.n_scored) FILTER (v.metric = 'mws') AS mws_n,
        r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'fmlama' AND v.slice_kind = 'condition'
    GROUP BY ALL
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY main_language, subject_language, country_mentioned, is_null, map DESC NULLS LAST, model
    ) AS place,
    * EXCLUDE (config_hash)
FROM wide
ORDER BY max(finished_at) OVER (PARTITION BY config_hash) DESC, config_hash, place;

COMMENT ON VIEW leaderboard_fmlama IS 'One row per configuration, model, languages and country_mentioned: newest configuration first; within each, models by mAP, then baselines. Compare only within one config_hash and one pair of languages, since other candidates make a different task.';
COMMENT ON COLUMN leaderboard_fmlama.place IS 'Order in the configuration, from 1: by languages and country_mentioned; within each, models by mAP, then baselines.';
COMMENT ON COLUMN leaderboard_fmlama.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN leaderboard_fmlama.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN leaderboard_fmlama.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN leaderboard_fmlama.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN leaderboard_fmlama.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.map_sd IS 'Standard deviation of map over templates.';
COMMENT ON COLUMN leaderboard_fmlama.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN leaderboard_fmlama.n_scored IS 'Number of pairs of dish and wording from which map is computed.';
COMMENT ON COLUMN leaderboard_fmlama.n_unscored IS 'Number of pairs that could not be scored.';
COMMENT ON COLUMN leaderboard_fmlama.map_gain IS 'map minus the map of the best baseline: chance, or the most common ingredients.';
COMMENT ON COLUMN leaderboard_fmlama.gain_low IS 'Lower end of the 95 % interval of map_gain. Above 0: the model scores more than naming common ingredients.';
COMMENT ON COLUMN leaderboard_fmlama.gain_high IS 'Upper end of the 95 % interval of map_gain.';
COMMENT ON COLUMN leaderboard_fmlama.mws IS 'Mean word similarity, -1 to 1; NULL if unscored.';
COMMENT ON COLUMN leaderboard_fmlama.null_mws IS 'mws of random predictions.';
COMMENT ON COLUMN leaderboard_fmlama.map_cv IS 'Unevenness of map over origins: standard deviation divided by mean.';
COMMENT ON COLUMN leaderboard_fmlama.country_gain IS 'Gain in map from naming the country.';
COMMENT ON COLUMN leaderboard_fmlama.country_gain_p IS 'p-value of country_gain (Wilcoxon).';
COMMENT ON COLUMN leaderboard_fmlama.mes IS 'Share of top predictions that the judge marks Correct; NULL without a judge.';
COMMENT ON COLUMN leaderboard_fmlama.null_mes IS 'mes, by the same judge, of null:common-of-origin, which names the most common ingredients of the origin.';
COMMENT ON COLUMN leaderboard_fmlama.coverage IS 'Share of the pairs of dish and wording that could be scored for map, 0 to 1.';
COMMENT ON COLUMN leaderboard_fmlama.unspellable IS 'Number of candidates that the model cannot spell.';
COMMENT ON COLUMN leaderboard_fmlama.mws_low IS 'Lower end of the 95 % interval of mws, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.mws_high IS 'Upper end of the 95 % interval of mws, over dishes.';
COMMENT ON COLUMN leaderboard_fmlama.mws_n IS 'Number of pairs of dish and wording from which mws is computed.';

CREATE OR REPLACE VIEW fmlama_by_origin AS
SELECT r.config_hash, r.profile, r.model, r.is_null,
    split_part(v.slice, ':', 1) AS main_language, split_part(v.slice, ':', 2) AS subject_language,
    split_part(v.slice, ':', 3) = 'yes' AS country_mentioned,
    split_part(v.slice, ':', 4) AS origin,
    any_value(v.value) FILTER (v.metric = 'map') AS map,
    any_value(v.ci_low) FILTER (v.metric = 'map') AS ci_low,
    any_value(v.ci_high) FILTER (v.metric = 'map') AS ci_high,
    any_value(v.value) FILTER (v.metric = 'map_sd') AS map_sd,
    any_value(v.null_value) FILTER (v.metric = 'map') AS null_map,
    any_value(v.value) FILTER (v.metric = 'mws') AS mws,
    any_value(v.value) FILTER (v.metric = 'mws_sd') AS mws_sd,
    any_value(v.null_value) FILTER (v.metric = 'mws') AS null_mws,
    any_value(v.value) FILTER (v.metric = 'country_gain') AS country_gain,
    any_value(v.value) FILTER (v.metric = 'country_gain_p') AS country_gain_p,
    any_value(v.value) FILTER (v.metric = 'error_foreign') AS error_foreign,
    any_value(v.value) FILTER (v.metric = 'mes') AS mes,
    any_value(v.n_scored) FILTER (v.metric = 'map') AS n_scored,
    r.run_id, r.finished_at
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'fmlama' AND v.slice_kind = 'condition_origin'
GROUP BY ALL;

COMMENT ON VIEW fmlama_by_origin IS 'The leaderboard''s numbers origin by origin.';
COMMENT ON COLUMN fmlama_by_origin.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_by_origin.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_by_origin.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN fmlama_by_origin.origin IS 'Origin, or origin group (table origin_group).';
COMMENT ON COLUMN fmlama_by_origin.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_by_origin.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_by_origin.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_by_origin.map_sd IS 'Standard deviation of map over templates.';
COMMENT ON COLUMN fmlama_by_origin.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN fmlama_by_origin.mws IS 'Mean word similarity, -1 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_by_origin.mws_sd IS 'Standard deviation of mws over templates.';
COMMENT ON COLUMN fmlama_by_origin.null_mws IS 'mws of random predictions.';
COMMENT ON COLUMN fmlama_by_origin.country_gain IS 'Gain in map from naming the country.';
COMMENT ON COLUMN fmlama_by_origin.country_gain_p IS 'Holm-adjusted p of country_gain over the origins (Wilcoxon).';
COMMENT ON COLUMN fmlama_by_origin.error_foreign IS 'Share of foreign ingredients among false predictions.';
COMMENT ON COLUMN fmlama_by_origin.mes IS 'Share of top predictions that the judge marks Correct; NULL without a judge.';
COMMENT ON COLUMN fmlama_by_origin.n_scored IS 'Number of pairs of dish and wording from which map is computed.';

CREATE OR REPLACE VIEW fmlama_code_switching AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY is_null, model, main_language, subject_language
    ) AS place,
    model, is_null, main_language, subject_language, map, ci_low, ci_high, null_map,
    map - any_value(map) FILTER (subject_language = main_language)
        OVER (PARTITION BY run_id, main_language) AS change, run_id
FROM leaderboard_fmlama
WHERE NOT country_mentioned;

COMMENT ON VIEW fmlama_code_switching IS 'The matrix P(main language, subject language): mAP of every pair of languages, one row per pair, without the country.';
COMMENT ON COLUMN fmlama_code_switching.place IS 'Order in the configuration, from 1: models, then baselines, by language.';
COMMENT ON COLUMN fmlama_code_switching.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_code_switching.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_code_switching.map IS 'Mean average precision, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN fmlama_code_switching.ci_low IS 'Lower end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_code_switching.ci_high IS 'Upper end of the 95 % interval of map, over dishes.';
COMMENT ON COLUMN fmlama_code_switching.null_map IS 'map of a random ranking.';
COMMENT ON COLUMN fmlama_code_switching.change IS 'map minus the map of prompts wholly in the main language.';

CREATE OR REPLACE VIEW fmlama_errors AS
WITH counted AS (
    SELECT r.config_hash, r.model, r.is_null, p.main_language, p.subject_language, p.country_mentioned, p.origin,
        p.candidate, p.outcome, count(*) AS times, p.run_id
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.outcome <> 'correct'
    GROUP BY ALL
)
SELECT * EXCLUDE (run_id), times / sum(times) OVER of_origin AS share,
    row_number() OVER (of_origin ORDER BY times DESC, candidate, outcome) AS rank, run_id
FROM counted
WINDOW of_origin AS (PARTITION BY run_id, main_language, subject_language, country_mentioned, origin);

COMMENT ON VIEW fmlama_errors IS 'The false predictions of every model and origin, most frequent first, over all templates.';
COMMENT ON COLUMN fmlama_errors.main_language IS 'Language of the template and of the candidates.';
COMMENT ON COLUMN fmlama_errors.subject_language IS 'Language of the dish''s name; if it differs from main_language, the prompt is code-switched.';
COMMENT ON COLUMN fmlama_errors.country_mentioned IS 'Whether the template names the country of origin.';
COMMENT ON COLUMN fmlama_errors.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_errors.candidate IS 'False prediction.';
COMMENT ON COLUMN fmlama_errors.outcome IS 'local: an ingredient of other dishes of the origin (fine confusion); foreign: an ingredient of none of them (coarse confusion).';
COMMENT ON COLUMN fmlama_errors.times IS 'Number of times.';
COMMENT ON COLUMN fmlama_errors.share IS 'Share of the origin''s false predictions.';
COMMENT ON COLUMN fmlama_errors.rank IS 'Place among the origin''s false predictions, from 1.';

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

CREATE OR REPLACE VIEW fmlama_dish_count AS
WITH counted AS (
    SELECT r.config_hash, p.main_language, p.origin, count(DISTINCT p.dish) AS n_dishes
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.main_language = p.subject_language
    GROUP BY ALL
)
SELECT config_hash, row_number() OVER (PARTITION BY config_hash ORDER BY main_language, origin) AS place,
    main_language, origin, n_dishes
FROM counted;

COMMENT ON VIEW fmlama_dish_count IS 'Number of dishes of each origin, by prompt language.';
COMMENT ON COLUMN fmlama_dish_count.place IS 'Order in the configuration, from 1: by language and origin.';
COMMENT ON COLUMN fmlama_dish_count.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_dish_count.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_dish_count.n_dishes IS 'Number of dishes.';

CREATE OR REPLACE VIEW fmlama_frequent_error AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY is_null, model, main_language, country_mentioned, origin, rank
    ) AS place,
    model, is_null, main_language, country_mentioned, origin, candidate, outcome, times, share, rank
FROM fmlama_errors
WHERE rank <= 5 AND main_language = subject_language;

COMMENT ON VIEW fmlama_frequent_error IS 'The five most frequent false predictions of every model and origin, where sentence and dish are in one language.';
COMMENT ON COLUMN fmlama_frequent_error.place IS 'Order in the configuration, from 1: models, then baselines; within each model, by condition, origin and rank.';
COMMENT ON COLUMN fmlama_frequent_error.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_frequent_error.country_mentioned IS 'Whether the sentence names the country of origin.';
COMMENT ON COLUMN fmlama_frequent_error.origin IS 'Origin, or origin group, of the dishes.';
COMMENT ON COLUMN fmlama_frequent_error.candidate IS 'Prediction.';
COMMENT ON COLUMN fmlama_frequent_error.outcome IS 'local: an ingredient of other dishes of the origin; foreign: an ingredient of none of them.';
COMMENT ON COLUMN fmlama_frequent_error.times IS 'Number of times, over all templates.';
COMMENT ON COLUMN fmlama_frequent_error.share IS 'Share of the origin''s false predictions.';
COMMENT ON COLUMN fmlama_frequent_error.rank IS 'Rank, from 1 (most frequent) to 5.';

CREATE OR REPLACE VIEW fmlama_frequent_prediction AS
WITH counted AS (
    SELECT r.config_hash, p.model, p.main_language, p.country_mentioned, p.candidate, count(*) AS times,
        count(*) FILTER (p.outcome = 'correct') / count(*) AS correct
    FROM latest_run AS r
    JOIN prediction AS p USING (run_id)
    WHERE r.evaluation = 'fmlama' AND p.main_language = p.subject_language
    GROUP BY ALL
), ranked AS (
    SELECT *, times / sum(times) OVER same AS share, row_number() OVER (same ORDER BY times DESC, candidate) AS rank
    FROM counted
    WINDOW same AS (PARTITION BY config_hash, model, main_language, country_mentioned)
    QUALIFY rank <= 5
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY model, main_language, country_mentioned, rank) AS place,
    model, main_language, country_mentioned, candidate, times, share, correct, rank
FROM ranked;

COMMENT ON VIEW fmlama_frequent_prediction IS 'The five candidates that each model predicts most often, right or wrong, where sentence and dish are in one language.';
COMMENT ON COLUMN fmlama_frequent_prediction.place IS 'Order in the configuration, from 1: by model, condition and rank.';
COMMENT ON COLUMN fmlama_frequent_prediction.main_language IS 'Language of the sentence and of the dish''s name.';
COMMENT ON COLUMN fmlama_frequent_prediction.country_mentioned IS 'Whether the sentence names the country of origin.';
COMMENT ON COLUMN fmlama_frequent_prediction.candidate IS 'Prediction.';
COMMENT ON COLUMN fmlama_frequent_prediction.times IS 'Number of times, over all dishes and templates.';
COMMENT ON COLUMN fmlama_frequent_prediction.share IS 'Share of all predictions of the condition.';
COMMENT ON COLUMN fmlama_frequent_prediction.correct IS 'Share of these predictions that are right.';
COMMENT ON COLUMN fmlama_frequent_prediction.rank IS 'Rank, from 1 (most frequent) to 5.';
