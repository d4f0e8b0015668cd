CREATE OR REPLACE VIEW doubt AS
{doubts};

COMMENT ON VIEW doubt IS 'Reasons not to trust a headline that beats its null: one row per run, headline and reason, from all views <evaluation>_doubt.';
COMMENT ON COLUMN doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW boards_doubt AS
-- A verdict that is lost never makes a finding: it would stand with the worst value in place of each.
WITH unread AS (
    SELECT request_hash AS run_id, string_agg(DISTINCT role, ' or ' ORDER BY role) AS roles
    FROM answer_loss WHERE role <> 'candidate' AND n_lost > 0 GROUP BY ALL
), worst AS (
    SELECT v.run_id, v.metric, m.direction, u.roles, v.n_unscored, v.n_scored + v.n_unscored AS n, v.null_value,
        if(m.direction = 'higher', v.ci_low, v.ci_high) AS nearest,
        (v.n_scored * nearest + v.n_unscored * if(m.direction = 'higher', m.range_low, m.range_high)) / n AS with_worst
    FROM unread AS u
    JOIN run AS r ON r.run_id = u.run_id AND NOT r.is_null
    JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline AND m.direction <> 'none'
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall' AND v.n_unscored > 0
)
SELECT run_id, metric, format('{} of {} are unscored, and answers of a {} are lost: with the worst value for each it is not beyond its null', n_unscored, n, roles) AS reason
FROM worst
WHERE if(direction = 'higher', nearest > null_value AND with_worst <= null_value, nearest < null_value AND with_worst >= null_value);

COMMENT ON VIEW boards_doubt IS 'Rows that every evaluation adds to the view doubt: headlines that are beyond their null only because verdicts, or a simulator''s messages, are lost.';
COMMENT ON COLUMN boards_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW against_null AS
WITH doubted AS (
    SELECT run_id, metric, string_agg(reason, '; ' ORDER BY reason) AS doubt FROM doubt GROUP BY ALL
), placed AS (
    SELECT v.run_id, m.evaluation, r.config_hash, r.model, m.metric, m.label,
        CASE m.direction WHEN 'higher' THEN v.ci_low > v.null_value WHEN 'lower' THEN v.ci_high < v.null_value END AS is_clear
    FROM run AS r
    JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
    WHERE r.status = 'finished' AND NOT r.is_null
)
SELECT evaluation, config_hash, run_id, model, metric, label,
    if(is_clear IS NULL, NULL, is_clear AND doubt IS NULL) AS is_beyond_null, doubt
FROM placed
LEFT JOIN doubted USING (run_id, metric);

COMMENT ON VIEW against_null IS 'Comparison of every headline of every run with its null (docs/intervals.md); reports, overview, leaderboards and model_scores use it.';
COMMENT ON COLUMN against_null.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN against_null.run_id IS 'Run: run.run_id; no null models.';
COMMENT ON COLUMN against_null.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN against_null.label IS 'Name of the headline for display.';
COMMENT ON COLUMN against_null.is_beyond_null IS 'Whether the 95 % interval lies beyond the null on the better side and no doubt applies; NULL without an interval or a null.';

CREATE OR REPLACE VIEW leaderboard_history AS
WITH newest AS (
    SELECT evaluation, config_hash, model, engine_hash, is_null, coalesce(occasion, '') AS occasion, run_id, finished_at
    FROM run
    WHERE status = 'finished'
    QUALIFY row_number() OVER (
        PARTITION BY evaluation, config_hash, model, engine_hash, coalesce(occasion, '') ORDER BY finished_at DESC, run_id
    ) = 1
)
SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, r.is_null, r.occasion, r.run_id, r.finished_at, m.metric,
    m.label, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, a.is_beyond_null, a.doubt
FROM newest AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric
LEFT JOIN against_null AS a ON a.run_id = r.run_id AND a.metric = m.metric
WHERE v.slice_kind = 'overall';

COMMENT ON VIEW leaderboard_history IS 'The headlines of all evaluations on every occasion: newest finished run of each engine, configuration and occasion. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_history.engine_hash IS 'Engine: run.engine_hash.';
COMMENT ON COLUMN leaderboard_history.occasion IS 'Name of the occasion; empty for runs that used earlier answers.';
COMMENT ON COLUMN leaderboard_history.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN leaderboard_history.label IS 'Name of the headline for display.';
COMMENT ON COLUMN leaderboard_history.value IS 'The number; NULL if unscored (metric_value.unscored_reason).';
COMMENT ON COLUMN leaderboard_history.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';
COMMENT ON COLUMN leaderboard_history.is_beyond_null IS 'Value of against_null.is_beyond_null; NULL for null models.';
COMMENT ON COLUMN leaderboard_history.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN leaderboard_history.n_unscored IS 'Number of points that could not be scored.';

CREATE OR REPLACE VIEW leaderboard_published AS
WITH citation (paper, cited) AS (
    VALUES ('spectral', 'anonymous authors 2025'), ('cure', 'Vo and Koyejo 2025'), ('fmlama', 'Zhou et al. 2025'),
        ('worldwise', 'WorldWiseAI 2024'), ('culturall', 'Lin et al. 2026')
)
SELECT k.evaluation, k.metric, m.label, k.slice_kind,
    regexp_replace(coalesce(p.condition, ''), '^' || coalesce(k.condition, '') || '$', k.slice) AS slice,
    p.model, p.value * k.factor AS value, k.definition, k.difference, k.setting, k.is_detail, p.paper, cited, p.table_name,
    p.metric AS published_metric, p.condition, p.printed, p.unit, p.note
FROM published_metric AS k
JOIN metric AS m ON m.evaluation = k.evaluation AND m.metric = k.metric
JOIN published_result AS p ON p.paper = k.paper AND p.table_name = k.table_name AND p.metric = k.published
    AND regexp_full_match(coalesce(p.condition, ''), coalesce(k.condition, ''))
LEFT JOIN citation ON citation.paper = p.paper
WHERE p.value IS NOT NULL
UNION ALL BY NAME
SELECT m.evaluation, m.metric, m.label, p.slice_kind, p.slice, p.model, p.value, 'near' AS definition, p.difference,
    false AS is_detail, p.source AS paper, p.source AS cited, m.metric AS published_metric,
    p.value::VARCHAR AS printed, m.unit, nullif(p.note, '') AS note
FROM recipe_published AS p
JOIN recipe_metric AS m ON m.evaluation = p.evaluation AND m.is_headline AND m.place = 0;

COMMENT ON VIEW leaderboard_published IS 'Published numbers whose definition equals or nearly equals that of a metric here, in the unit used here. Read them beside leaderboards, but never rank with them: models, items and prompts differ.';
COMMENT ON COLUMN leaderboard_published.metric IS 'Metric: metric.metric.';
COMMENT ON COLUMN leaderboard_published.label IS 'Name of the headline for display.';
COMMENT ON COLUMN leaderboard_published.slice_kind IS 'Kind of the slice here that the number is shown beside: metric_value.slice_kind.';
COMMENT ON COLUMN leaderboard_published.slice IS 'Name of the slice: metric_value.slice.';
COMMENT ON COLUMN leaderboard_published.model IS 'Model, as the paper prints it; NULL: all models of the paper together.';
COMMENT ON COLUMN leaderboard_published.value IS 'The published number, in the unit used here.';
COMMENT ON COLUMN leaderboard_published.definition IS 'equal: the same formula; near: nearly the same.';
COMMENT ON COLUMN leaderboard_published.difference IS 'Differences.';
COMMENT ON COLUMN leaderboard_published.setting IS 'Parameter and value with which the definition is equal; with another value it is near. NULL: any value.';
COMMENT ON COLUMN leaderboard_published.is_detail IS 'Whether pages and tables hide it at first.';
COMMENT ON COLUMN leaderboard_published.paper IS 'Paper: published_result.paper; for a recipe, its source.';
COMMENT ON COLUMN leaderboard_published.cited IS 'Authors and year; for a recipe, its source.';
COMMENT ON COLUMN leaderboard_published.table_name IS 'Table of the paper; NULL for a recipe.';
COMMENT ON COLUMN leaderboard_published.published_metric IS 'Metric, as printed.';
COMMENT ON COLUMN leaderboard_published.condition IS 'Row and column: published_result.condition.';
COMMENT ON COLUMN leaderboard_published.printed IS 'The number as printed.';
COMMENT ON COLUMN leaderboard_published.unit IS 'Unit of the paper.';
COMMENT ON COLUMN leaderboard_published.note IS 'Doubt about the cell; NULL for most.';

CREATE OR REPLACE VIEW model_scores AS
SELECT n.model, m.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored, v.n_unscored, n.evaluation,
    v.unscored_reason, a.is_beyond_null, a.doubt, m.label, m.direction, n.dtype, n.model_id, n.config_hash, n.model_hash,
    n.engine_hash, n.run_id, n.finished_at
FROM shown_run AS n
JOIN metric AS m ON m.evaluation = n.evaluation AND m.is_headline
JOIN metric_value AS v ON v.run_id = n.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
JOIN against_null AS a ON a.run_id = n.run_id AND a.metric = m.metric;

COMMENT ON VIEW model_scores IS 'Every model on every headline of every evaluation: in the configuration that pages show, from the engine in shown_run. Compare models within a metric, not metrics: their scales differ.';
COMMENT ON COLUMN model_scores.config_hash IS 'Configuration: run.config_hash; one for each evaluation.';
COMMENT ON COLUMN model_scores.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN model_scores.label IS 'Name of the headline for display.';
COMMENT ON COLUMN model_scores.direction IS 'Direction that is better: higher or lower.';
COMMENT ON COLUMN model_scores.model IS 'Model; null models are in null_value.';
COMMENT ON COLUMN model_scores.model_hash IS 'Hash on which evaluations are joined (run.model_hash).';
COMMENT ON COLUMN model_scores.engine_hash IS 'Engine that answered: run.engine_hash.';
COMMENT ON COLUMN model_scores.dtype IS 'Precision of the engine; NULL if a server chooses it.';
COMMENT ON COLUMN model_scores.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN model_scores.ci_low IS 'Lower end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN model_scores.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN model_scores.null_value IS 'Value of a null model for the same metric and slice; NULL if there is none.';
COMMENT ON COLUMN model_scores.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN model_scores.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN model_scores.n_unscored IS 'Number of points that could not be scored.';
COMMENT ON COLUMN model_scores.is_beyond_null IS 'Value of against_null.is_beyond_null, which reports show too; NULL without an interval or a null.';

CREATE OR REPLACE VIEW external_ranking AS
WITH ranking AS (
    SELECT benchmark, model, place, concat_ws('|', model, known_as) AS names, source, topics, note, false AS is_users
    FROM external_rank
    WHERE benchmark NOT IN (SELECT benchmark FROM user_rank)
    UNION ALL
    SELECT benchmark, model, place, model, source, NULL, NULL, true FROM user_rank
), known AS (
    SELECT DISTINCT n.model, model_hash,
        unnest([lower(n.model), lower(split_part(n.model, '#', 1)), lower(model_id), lower(split_part(saved.model, '#', 1))]) AS name
    FROM shown_run AS n
    JOIN (SELECT run_id, model FROM run_base) AS saved USING (run_id)
)
SELECT DISTINCT r.benchmark, r.place, r.model, k.model AS our_model, k.model_hash, r.source, r.topics, r.note, r.is_users
FROM ranking AS r
LEFT JOIN known AS k ON list_contains(string_split(lower(r.names), '|'), k.name);

COMMENT ON VIEW external_ranking IS 'Rankings by external benchmarks, matched to the models run here: the five that Measuring Meta-Cultural Competency quotes in table 5, and those that users imported (culturemeter ranking).';
COMMENT ON COLUMN external_ranking.benchmark IS 'Benchmark; a user''s ranking replaces a quoted one of the same name.';
COMMENT ON COLUMN external_ranking.place IS 'Place, from 1: the best.';
COMMENT ON COLUMN external_ranking.model IS 'Model, as the benchmark names it.';
COMMENT ON COLUMN external_ranking.our_model IS 'Name of the model on leaderboards; NULL if it was not run here.';
COMMENT ON COLUMN external_ranking.model_hash IS 'Model: run.model_hash; NULL if it was not run here.';
COMMENT ON COLUMN external_ranking.source IS 'Authors of the benchmark, or the file.';
COMMENT ON COLUMN external_ranking.topics IS 'Subject.';
COMMENT ON COLUMN external_ranking.note IS 'Further notes.';
COMMENT ON COLUMN external_ranking.is_users IS 'Whether a user imported it.';

-- Ranks are computed for every pair, over the models that have both; 1 is worst, ties share their mean rank. A pair
-- without a model that has both numbers has a row with the reason.
CREATE OR REPLACE VIEW evaluation_agreement AS
-- What is read more than once is materialized: DuckDB plans the long view of doubts anew at each reading.
WITH ours AS MATERIALIZED (
    FROM model_scores
), scored AS MATERIALIZED (
    SELECT evaluation, metric, label, model_hash, if(direction = 'lower', -value, value) AS goodness
    FROM ours
    UNION ALL
    SELECT 'external', benchmark, benchmark, model_hash, -place
    FROM external_ranking
    WHERE model_hash IS NOT NULL
), apart AS (
    SELECT a.evaluation, a.metric, count_if(a.ci_low > b.ci_high)::BIGINT AS n_apart
    FROM ours AS a
    JOIN ours AS b USING (evaluation, metric)
    GROUP BY ALL
), pair AS MATERIALIZED (
    SELECT a.evaluation, a.metric, a.label, b.evaluation AS other_evaluation, b.metric AS other_metric,
        b.label AS other_label, a.model_hash, a.goodness AS x, b.goodness AS y
    FROM scored AS a
    JOIN scored AS b ON a.model_hash = b.model_hash
        AND a.evaluation <> b.evaluation AND a.evaluation <> 'external'
        AND (a.evaluation < b.evaluation OR b.evaluation = 'external')
), ranked AS (
    SELECT *,
        rank() OVER (of_pair ORDER BY x) + (count(*) OVER (PARTITION BY evaluation, metric, other_evaluation, other_metric, x) - 1) / 2 AS x_rank,
        rank() OVER (of_pair ORDER BY y) + (count(*) OVER (PARTITION BY evaluation, metric, other_evaluation, other_metric, y) - 1) / 2 AS y_rank
    FROM pair
    WHERE x IS NOT NULL AND y IS NOT NULL
    WINDOW of_pair AS (PARTITION BY evaluation, metric, other_evaluation, other_metric)
), agreed AS (
    SELECT evaluation, metric, other_evaluation, other_metric, count(*) AS n_models,
        list(x_rank ORDER BY model_hash) AS ranks, list(y_rank ORDER BY model_hash) AS other_ranks,
        count(*) = count(DISTINCT x) AND count(*) = count(DISTINCT y) AS is_untied,
        CASE WHEN count(*) > 2 AND count(DISTINCT x) > 1 AND count(DISTINCT y) > 1
            -- Full agreement is exactly 1, without a rounding error.
            THEN round(corr(x_rank, y_rank), 12) END AS rho
    FROM ranked
    GROUP BY ALL
), asked AS (
    SELECT evaluation, metric, label, other_evaluation, other_metric, other_label, coalesce(n_models, 0) AS n_models,
        coalesce(ranks, []) AS ranks, coalesce(other_ranks, []) AS other_ranks, coalesce(is_untied, false) AS is_untied, rho
    FROM (SELECT DISTINCT evaluation, metric, label, other_evaluation, other_metric, other_label FROM pair)
    LEFT JOIN agreed USING (evaluation, metric, other_evaluation, other_metric)
), inner_agreed AS (
    -- The interval needs |rho| < 1: full agreement counts as the next value that n models can have.
    SELECT *, greatest(least(rho, 1 - 12 / (n_models ** 3 - n_models)), 12 / (n_models ** 3 - n_models) - 1) AS inner_rho,
        n_models - 2 AS df
    FROM asked
), spread AS (
    -- Bonett and Wright (2000) with the t of n - 2 degrees of freedom, here as a series (Fisher and Cornish 1960).
    SELECT *, if(n_models < 5, NULL, (1.959964 + 2.3723 / df + 2.8225 / df ** 2 + 2.5559 / df ** 3)
        * sqrt((1 + inner_rho ** 2 / 2) / (n_models - 3))) AS half
    FROM inner_agreed
)
SELECT spread.evaluation, spread.metric, label, other_evaluation, other_metric, other_label, n_models, rho,
    CASE WHEN n_models >= 5 THEN if(rho = -1, -1, tanh(atanh(inner_rho) - half)) END AS ci_low,
    CASE WHEN n_models >= 5 THEN if(rho = 1, 1, tanh(atanh(inner_rho) + half)) END AS ci_high,
    CASE WHEN n_models = 0 THEN 'no model that was run on both has both numbers' WHEN n_models < 3 THEN 'fewer than three models have both' WHEN rho IS NULL THEN 'one of them does not vary' END
        AS unscored_reason,
    least_rho(n_models) AS least_rho, ranks, other_ranks, is_untied, coalesce(own.n_apart, 0) AS n_apart, other.n_apart AS other_n_apart
FROM spread
LEFT JOIN apart AS own ON (own.evaluation, own.metric) = (spread.evaluation, spread.metric)
LEFT JOIN apart AS other ON (other.evaluation, other.metric) = (spread.other_evaluation, spread.other_metric);

COMMENT ON VIEW evaluation_agreement IS 'Agreement of evaluations on the order of models: Spearman''s rho of every two headlines of different evaluations, and of headlines with external rankings, over the models that have both (model_scores). Above 0: models that are better on one tend to be better on the other. Numbers where lower is better are reversed first.';
COMMENT ON COLUMN evaluation_agreement.metric IS 'Headline of the evaluation.';
COMMENT ON COLUMN evaluation_agreement.label IS 'Name of that headline for display.';
COMMENT ON COLUMN evaluation_agreement.other_evaluation IS 'The other evaluation, later in the alphabet; "external": a ranking of external_ranking.';
COMMENT ON COLUMN evaluation_agreement.other_metric IS 'Its headline, or the benchmark.';
COMMENT ON COLUMN evaluation_agreement.other_label IS 'Name of that headline for display.';
COMMENT ON COLUMN evaluation_agreement.n_models IS 'Number of models that have both numbers: read it first. 0: models were run on both, but none has both numbers.';
COMMENT ON COLUMN evaluation_agreement.rho IS 'Spearman''s rho, -1 to 1: 1 is the same order; NULL if there is none. Noise in the scores lowers it.';
COMMENT ON COLUMN evaluation_agreement.ci_low IS 'Lower end of the 95 % interval over models (docs/intervals.md); NULL below five models. It treats the models as a random sample, which they are not.';
COMMENT ON COLUMN evaluation_agreement.ci_high IS 'Upper end of the 95 % interval; NULL below five models.';
COMMENT ON COLUMN evaluation_agreement.unscored_reason IS 'Why there is no rho; NULL if there is one.';
COMMENT ON COLUMN evaluation_agreement.least_rho IS 'Smallest |rho| that is significantly different from 0 for n_models models without ties (two-sided, 5 %, one pair tested): exact below ten models, else at most 0.005 too high. NULL below five models, for which no rho is significant.';
COMMENT ON COLUMN evaluation_agreement.ranks IS 'Ranks of the models on the headline, from 1 (worst); ties share their mean rank.';
COMMENT ON COLUMN evaluation_agreement.other_ranks IS 'Ranks of the same models, in the same order, on the other.';
COMMENT ON COLUMN evaluation_agreement.is_untied IS 'Whether all models differ on both; with ties least_rho is not exact.';
COMMENT ON COLUMN evaluation_agreement.n_apart IS 'Number of pairs of models whose intervals on the first headline do not overlap. 0: the headline separates no models, so its order may be noise.';
COMMENT ON COLUMN evaluation_agreement.other_n_apart IS 'Value of n_apart for the other headline; NULL for an external ranking, which has no intervals.';

-- A rank depends on who else is on the board, so none is stored. Our readers compute the sets of a query that names this
-- view and pass them in a variable (flows/ranks.py); other programs find it empty.
CREATE OR REPLACE VIEW rank_set AS
SELECT one->>'evaluation' AS evaluation, one->>'config_hash' AS config_hash, one->>'metric' AS metric,
    one->>'model' AS model, (one->>'value')::DOUBLE AS value, (one->>'low')::BIGINT AS rank_low,
    (one->>'high')::BIGINT AS rank_high, (one->>'n_models')::BIGINT AS n_models, one->>'reason' AS reason,
    one->>'run_id' AS run_id
FROM (SELECT unnest(getvariable('rank_sets')::VARCHAR[])::JSON AS one);

COMMENT ON VIEW rank_set IS 'The ranks that the data allow each model on every headline, among the newest runs of one configuration: 95 % simultaneously over all pairs (docs/intervals.md). Null models have none. Computed when it is read, so only by culturemeter sql, Python and the pages; other programs find no rows.';
COMMENT ON COLUMN rank_set.config_hash IS 'Configuration: run.config_hash. Ranks are among its models.';
COMMENT ON COLUMN rank_set.metric IS 'Headline: metric.metric where metric.is_headline.';
COMMENT ON COLUMN rank_set.value IS 'The number.';
COMMENT ON COLUMN rank_set.rank_low IS 'Best possible rank, from 1: 1 plus the number of models that are shown to be better.';
COMMENT ON COLUMN rank_set.rank_high IS 'Worst possible rank: n_models less the number of models that are shown to be worse. Models whose ranges overlap are not ordered.';
COMMENT ON COLUMN rank_set.n_models IS 'Number of models with a value: those that share the ranks.';
COMMENT ON COLUMN rank_set.reason IS 'Why no two models can be told apart; NULL if the data could do it.';
