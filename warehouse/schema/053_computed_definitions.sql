-- What is typed of a published number is its formula; whether a run may stand beside it is computed from the settings.

COMMENT ON COLUMN published_metric.definition IS 'Whether the formula is ours: equal, or near, which is not quite. Whether a run has the paper''s setting too is computed from the evaluation''s settings.toml.';
COMMENT ON COLUMN published_metric.difference IS 'What differs in the formula; empty where nothing does.';
ALTER TABLE published_metric ALTER COLUMN difference DROP NOT NULL;
