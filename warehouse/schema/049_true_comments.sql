-- What comments said of these columns is not, or no longer, what the code does.
COMMENT ON COLUMN metric_value.ci_low IS 'Lower end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value.ci_high IS 'Upper end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN run.run_id IS 'Hash of configuration, engine, boundary rule and code version, and of cohort, packs and occasion where there are any.';
COMMENT ON COLUMN run_request.request_hash IS 'Hash of all that determines the answers: engine, prompts or list, sampling, schema, boundary rule, and the occasion if there is one.';
COMMENT ON COLUMN cure_item.gold IS 'The norm behind it, or what the symbol means (casa): what an explanation is judged against.';
COMMENT ON COLUMN cure_item.cues IS 'specnorm: what marks the subgroup, such as "ethnicity: Sámi". casa: words of the query that name the symbol. Separated by |; NULL if there are none.';
COMMENT ON COLUMN cure_item.rule IS 'normad: rule of thumb. casa: the norm that the violating query breaks. specnorm: specificity (low, medium, high). NULL if there is none.';
COMMENT ON TABLE persona IS 'The prompt that makes a model answer as somebody of a country. An answer without it is the baseline.';
COMMENT ON TABLE guiding_value IS 'The values that a model names three of to explain its decision. Section 4.9 of WorldWiseAI 2024 names the most frequent of its own.';
COMMENT ON TABLE human_answer IS 'Every saved revision of every answer; a ranking and marks have one row an entry. Rows are only added, but for people who withdraw or for whom there is no place.';
COMMENT ON COLUMN part_unit.unit IS 'Which share of the request: the value of the column that is the unit of its kind (warehouse/kinds).';
