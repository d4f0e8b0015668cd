-- Evaluations from recipes: what they say of themselves stands in no file of this program.

CREATE TABLE recipe_metric (
    evaluation VARCHAR,
    place INTEGER NOT NULL,
    metric VARCHAR,
    label VARCHAR NOT NULL,
    is_headline BOOLEAN NOT NULL,
    unit VARCHAR NOT NULL,
    range_low DOUBLE,
    range_high DOUBLE,
    direction VARCHAR NOT NULL CHECK (direction IN ('higher', 'lower', 'none')),
    description VARCHAR NOT NULL,
    null_baseline VARCHAR NOT NULL,
    unscored_when VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    doubts VARCHAR,
    PRIMARY KEY (evaluation, metric)
);
COMMENT ON TABLE recipe_metric IS 'The catalogue''s rows of evaluations from recipes, as their newest run registered them; they stand in the table metric too.';
COMMENT ON COLUMN recipe_metric.evaluation IS 'Evaluation.';
COMMENT ON COLUMN recipe_metric.place IS 'Order in the evaluation, from 0.';
COMMENT ON COLUMN recipe_metric.metric IS 'Identifier, unique within the evaluation.';
COMMENT ON COLUMN recipe_metric.label IS 'Name to show.';
COMMENT ON COLUMN recipe_metric.is_headline IS 'Whether it sums the evaluation up.';
COMMENT ON COLUMN recipe_metric.unit IS 'Unit of the value.';
COMMENT ON COLUMN recipe_metric.range_low IS 'Lowest possible value; NULL: unbounded.';
COMMENT ON COLUMN recipe_metric.range_high IS 'Highest possible value; NULL: unbounded.';
COMMENT ON COLUMN recipe_metric.direction IS 'Which way is better: higher, lower, or none.';
COMMENT ON COLUMN recipe_metric.description IS 'What it measures and what its ends mean.';
COMMENT ON COLUMN recipe_metric.null_baseline IS 'What null_value is of.';
COMMENT ON COLUMN recipe_metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN recipe_metric.source IS 'Where the definition comes from.';
COMMENT ON COLUMN recipe_metric.doubts IS 'Of a difference to a control: the headline that is doubted unless its interval lies above 0; NULL of others.';

CREATE TABLE evaluation_item (
    evaluation VARCHAR,
    item_hash VARCHAR,
    item VARCHAR,
    cluster VARCHAR NOT NULL,
    content JSON NOT NULL,
    PRIMARY KEY (evaluation, item_hash, item)
);
COMMENT ON TABLE evaluation_item IS 'Items of evaluations from recipes, in every version that a run has used: content->>''column'' is a cell.';
COMMENT ON COLUMN evaluation_item.evaluation IS 'Evaluation.';
COMMENT ON COLUMN evaluation_item.item_hash IS 'Version: run.item_lists->>''item''.';
COMMENT ON COLUMN evaluation_item.item IS 'Item.';
COMMENT ON COLUMN evaluation_item.cluster IS 'What it is alike with: intervals are taken over clusters.';
COMMENT ON COLUMN evaluation_item.content IS 'Its cells by column.';

CREATE TABLE recipe_published (
    evaluation VARCHAR,
    source VARCHAR,
    model VARCHAR,
    value DOUBLE NOT NULL,
    slice_kind VARCHAR,
    slice VARCHAR,
    difference VARCHAR NOT NULL,
    note VARCHAR,
    PRIMARY KEY (evaluation, source, model, slice_kind, slice)
);
COMMENT ON TABLE recipe_published IS 'Numbers of the headline of evaluations from recipes that others printed, as their definitions say; entered once, by whoever wrote the definition.';
COMMENT ON COLUMN recipe_published.evaluation IS 'Evaluation.';
COMMENT ON COLUMN recipe_published.source IS 'Where the number stands.';
COMMENT ON COLUMN recipe_published.model IS 'Model, as printed.';
COMMENT ON COLUMN recipe_published.value IS 'The number, in the unit of the headline.';
COMMENT ON COLUMN recipe_published.slice_kind IS 'Slice that it stands beside: metric_value.slice_kind.';
COMMENT ON COLUMN recipe_published.slice IS 'Which one: metric_value.slice.';
COMMENT ON COLUMN recipe_published.difference IS 'What differs between that number and ours.';
COMMENT ON COLUMN recipe_published.note IS 'What else is to be said of it; empty if nothing.';
