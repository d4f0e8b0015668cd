CREATE OR REPLACE VIEW sample_text AS
SELECT s.run_id, run.evaluation, s.model, s.config_hash, s.sample,
    coalesce(s.input, r.conversation) AS input, coalesce(s.output, r.text) AS output,
    s.target, s.scores, r.schema, r.sampling, s.more
FROM sample AS s
JOIN run USING (run_id)
LEFT JOIN response AS r ON r.request_hash = s.request AND r.item = s.prompt;

COMMENT ON VIEW sample_text IS 'Samples of every run, one a row: what was sent, what came back, target and scores. It reads nothing of today''s content.';
COMMENT ON COLUMN sample_text.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN sample_text.sample IS 'Name of the sample: of its item, conversation or question about a country.';
COMMENT ON COLUMN sample_text.input IS 'Messages that were sent, as JSON: [{role, content}].';
COMMENT ON COLUMN sample_text.output IS 'Text of the model, with its reasoning if the server sends it, or its probabilities in words.';
COMMENT ON COLUMN sample_text.target IS 'Right output, or several right ones, as JSON.';
COMMENT ON COLUMN sample_text.scores IS 'Scores by name as JSON: scores->''$.accuracy.value'' is a number.';
COMMENT ON COLUMN sample_text.schema IS 'JSON schema that was sent with the messages; NULL for free text.';
COMMENT ON COLUMN sample_text.sampling IS 'Sampling that was sent with the messages, as JSON; NULL if probabilities were read.';
COMMENT ON COLUMN sample_text.more IS 'Choices, transcript, end, tokens, metadata and other engines of the sample, as JSON.';
