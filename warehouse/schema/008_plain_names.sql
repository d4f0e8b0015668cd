-- Columns say what they hold, metrics which of them are headlines, and reference files are named as their
-- tables. The rows of metric are loaded again from warehouse/reference/metric.

ALTER TABLE run_request RENAME COLUMN domain TO topic;
ALTER TABLE run_request RENAME COLUMN question TO label;
COMMENT ON COLUMN run_request.topic IS 'What the request is about, in the words of its evaluation: a domain, a condition, a benchmark.';
COMMENT ON COLUMN run_request.label IS 'Which request of that topic: a question, a template, a repetition.';

-- A column that may not be NULL cannot be added to a table with rows.
DROP TABLE metric;
CREATE TABLE metric (
    evaluation VARCHAR,
    metric VARCHAR,
    label VARCHAR NOT NULL,
    is_headline BOOLEAN NOT NULL DEFAULT false,
    unit VARCHAR NOT NULL,
    range_low DOUBLE,
    range_high DOUBLE,
    direction VARCHAR NOT NULL CHECK (direction IN ('higher', 'lower', 'none')),
    description VARCHAR NOT NULL,
    null_baseline VARCHAR NOT NULL,
    unscored_when VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    PRIMARY KEY (evaluation, metric)
);
COMMENT ON TABLE metric IS 'Catalogue: what each number means.';
COMMENT ON COLUMN metric.evaluation IS 'Evaluation that computes it.';
COMMENT ON COLUMN metric.metric IS 'Identifier, unique within the evaluation.';
COMMENT ON COLUMN metric.label IS 'Name to show.';
COMMENT ON COLUMN metric.is_headline IS 'Whether it is among the few numbers that sum the evaluation up.';
COMMENT ON COLUMN metric.unit IS 'Unit of the value.';
COMMENT ON COLUMN metric.range_low IS 'Lowest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.range_high IS 'Highest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.direction IS 'Which way is better: higher, lower, or none.';
COMMENT ON COLUMN metric.description IS 'What it measures and what its ends mean.';
COMMENT ON COLUMN metric.null_baseline IS 'The null model that null_value is of: one that knows nothing; "none" if there is none.';
COMMENT ON COLUMN metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN metric.source IS 'Where the definition comes from.';

-- An item list keeps its name in the table state, so that one scraped later stays current.
UPDATE state SET name = replace(name, 'reference/', 'reference/item_list/')
WHERE name IN (SELECT 'reference/' || item_list || '.csv' FROM item_list);
DELETE FROM state WHERE starts_with(name, 'reference/') AND NOT starts_with(name, 'reference/item_list/');
UPDATE item_list SET source = 'item_list/' || source WHERE source = item_list || '.csv';

COMMENT ON COLUMN state.name IS '"home", "views", "reference/<table>" or "reference/item_list/<file>".';
COMMENT ON COLUMN source.file IS 'Path of the file in warehouse/reference.';
COMMENT ON COLUMN part_unit.unit IS 'Which share of the request: the value of the column that is the unit of its kind (warehouse/kinds).';
COMMENT ON COLUMN run.is_null IS 'Whether it is a null model that knows nothing.';

-- Papers by their authors and years.
COMMENT ON TABLE domain IS 'Cultural domains, with what people expect of them (Measuring Meta-Cultural Competency, 2025, tables 1 and 6).';
COMMENT ON COLUMN domain.seed_items IS 'How many items that paper scored, as it words it.';
COMMENT ON TABLE question IS 'The wordings in which each domain is asked (Measuring Meta-Cultural Competency, 2025, table 7).';
COMMENT ON TABLE origin_group IS 'The 14 cultural groups of FmLAMA (Zhou et al. 2025, section 5.1) and the origins that belong to each.';
COMMENT ON TABLE dimension IS 'The axes that answers are projected on (WorldWiseAI 2024, section 7.3; Schwartz 1992).';
COMMENT ON TABLE guiding_value IS 'The values that a model picks three of to explain its decision (WorldWiseAI 2024, section 4.9, names seven).';
COMMENT ON COLUMN culture_profile.profile IS 'hofstede_published: a country''s own scores. hofstede_regional: for what a country lacks there, the score of the region that it was surveyed in. seed_bucketed: WorldWiseAI 2024, section 7.4.';
