-- What the papers print, as rows, and which of it means what a number of ours means.

CREATE TABLE published_result (
    paper VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    model VARCHAR,
    condition VARCHAR,
    metric VARCHAR NOT NULL,
    printed VARCHAR NOT NULL,
    value DOUBLE,
    unit VARCHAR NOT NULL,
    page INTEGER,
    note VARCHAR
);
COMMENT ON TABLE published_result IS 'Every cell with a number of every table of the five papers, as printed. Entered twice, independently, and compared: all cells agreed. Not checked by people.';
COMMENT ON COLUMN published_result.paper IS 'Paper, by the evaluation that comes from it: spectral, fmlama, cure, worldwise, culturall.';
COMMENT ON COLUMN published_result.table_name IS 'Table, as the paper names it; of WorldWise its section and heading.';
COMMENT ON COLUMN published_result.model IS 'Model, as printed; NULL where the number is of no model or of all together.';
COMMENT ON COLUMN published_result.condition IS 'Row and column beyond model and metric: name=text, separated by semicolons; NULL if there is none.';
COMMENT ON COLUMN published_result.metric IS 'What is measured, as printed; "sd" after it: what stands behind the plus-minus sign.';
COMMENT ON COLUMN published_result.printed IS 'The number as printed.';
COMMENT ON COLUMN published_result.value IS 'The same as a number, in the paper''s unit; NULL where it is none, such as ">3700".';
COMMENT ON COLUMN published_result.unit IS 'Unit, as printed or as the text says.';
COMMENT ON COLUMN published_result.page IS 'Page; NULL where the source has no pages.';
COMMENT ON COLUMN published_result.note IS 'What is doubtful about the cell, or where it is from if not from the paper; NULL for most.';

CREATE TABLE published_metric (
    paper VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    published VARCHAR NOT NULL,
    condition VARCHAR,
    evaluation VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    slice_kind VARCHAR NOT NULL,
    slice VARCHAR NOT NULL,
    factor DOUBLE NOT NULL,
    is_detail BOOLEAN NOT NULL,
    definition VARCHAR NOT NULL CHECK (definition IN ('equal', 'near')),
    difference VARCHAR NOT NULL
);
COMMENT ON TABLE published_metric IS 'Which published numbers are defined as a number of ours is, or nearly so. Equal definitions do not make equal numbers: items, prompts and models differ.';
COMMENT ON COLUMN published_metric.paper IS 'Paper: published_result.paper.';
COMMENT ON COLUMN published_metric.table_name IS 'Table: published_result.table_name.';
COMMENT ON COLUMN published_metric.published IS 'The paper''s metric: published_result.metric.';
COMMENT ON COLUMN published_metric.condition IS 'Regular expression that the whole condition matches; NULL: there is none.';
COMMENT ON COLUMN published_metric.evaluation IS 'Evaluation of ours.';
COMMENT ON COLUMN published_metric.metric IS 'Metric of ours: metric.metric.';
COMMENT ON COLUMN published_metric.slice_kind IS 'Slice of ours: metric_value.slice_kind.';
COMMENT ON COLUMN published_metric.slice IS 'Slice of ours: metric_value.slice; \1 stands for the group of the condition.';
COMMENT ON COLUMN published_metric.factor IS 'What a published number is multiplied by to be in our unit.';
COMMENT ON COLUMN published_metric.is_detail IS 'Whether it is left out of what people are shown at first.';
COMMENT ON COLUMN published_metric.definition IS 'equal: the same formula; near: not quite.';
COMMENT ON COLUMN published_metric.difference IS 'What differs.';
