-- What comments said of these columns is more than the code does: some null models know something, an engine's hash
-- leaves out what changes no answer, and a model's has its adapter and, of a server, where it is and how it reasons.
COMMENT ON COLUMN metric.null_baseline IS 'What null_value is of, such as a null model; "none" if there is none.';
COMMENT ON COLUMN run.is_null IS 'Whether it is a null model.';
COMMENT ON COLUMN metric_value.null_value IS 'What a null model scores in its place (metric.null_baseline); NULL if there is none.';
COMMENT ON COLUMN run.engine_hash IS 'Hash of what determines the answers of an engine: kind, model, revision, prompt style, precision, options; of a server its address, reasoning and web search. Not device, batch size or price.';
COMMENT ON COLUMN run.model_hash IS 'Hash of weights with their adapter, revision and prompt style; of a server of its address, the model''s name, reasoning and web search. Without engine, precision and options: what evaluations are joined on. null for null models.';
COMMENT ON TABLE culture_profile IS 'Where countries lie on the dimensions of a framework: what its authors measured, or what others made of it (profile). A dimension that was not measured has no row.';
