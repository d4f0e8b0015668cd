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
