CREATE OR REPLACE VIEW explication_transcript AS
WITH held AS (
    SELECT c.*, coalesce(c.disagreement, CASE WHEN c.violations IS NOT NULL THEN c.apr END) AS dispute
    FROM explication_conversation AS c
    JOIN latest_run AS r ON r.run_id = c.run_id AND r.config_hash = c.config_hash
), picked AS (
    SELECT 'best' AS why, * FROM held WHERE apr IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY apr + coalesce(interaction, 1) DESC, task, persona, condition, repetition
    ) = 1
    UNION ALL
    SELECT 'worst' AS why, * FROM held WHERE apr IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY apr + coalesce(interaction, 1), task, persona, condition, repetition
    ) = 1
    UNION ALL
    SELECT 'most disputed' AS why, * FROM held WHERE dispute IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY config_hash, model ORDER BY dispute DESC, task, persona, condition, repetition
    ) = 1
    UNION ALL
    -- Without judges, the first conversation.
    SELECT 'first' AS why, * FROM held
    QUALIFY bool_and(apr IS NULL) OVER (PARTITION BY config_hash, model)
        AND row_number() OVER (PARTITION BY config_hash, model ORDER BY task, persona, condition, repetition) = 1
)
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash ORDER BY model, list_position(['best', 'worst', 'most disputed', 'first'], why)
    ) AS place,
    model, why, task, persona, persona_name, country, cuisine, condition, repetition, transcript, ended_by, title, violations,
    undecided, facts_told, n_facts, n_elicited, apr, interaction, instruction_following, apr_shuffled, disagreement
FROM picked;

COMMENT ON VIEW explication_transcript IS 'Conversations to read: the best, the worst and the most disputed of each model. explication_conversation has all.';
COMMENT ON COLUMN explication_transcript.config_hash IS 'Configuration.';
COMMENT ON COLUMN explication_transcript.place IS 'Order of the rows.';
COMMENT ON COLUMN explication_transcript.model IS 'Model that recommended.';
COMMENT ON COLUMN explication_transcript.why IS 'best, worst: by APR and INT. most disputed: by the judges'' disagreement; with one judge, the highest APR of a recommendation that violates a constraint. first: if there are no judges.';
COMMENT ON COLUMN explication_transcript.task IS 'Thing to recommend.';
COMMENT ON COLUMN explication_transcript.persona IS 'Persona that was simulated.';
COMMENT ON COLUMN explication_transcript.persona_name IS 'The persona''s name.';
COMMENT ON COLUMN explication_transcript.country IS 'Country of the persona.';
COMMENT ON COLUMN explication_transcript.cuisine IS 'Cuisine that the persona grew up with.';
COMMENT ON COLUMN explication_transcript.condition IS 'control or treatment.';
COMMENT ON COLUMN explication_transcript.repetition IS 'Number of the repetition, from 0.';
COMMENT ON COLUMN explication_transcript.transcript IS 'Turns of the conversation as both sides received them, separated by blank lines.';
COMMENT ON COLUMN explication_transcript.ended_by IS 'Reason for the end of the conversation.';
COMMENT ON COLUMN explication_transcript.title IS 'Name of what was recommended; NULL if nothing was.';
COMMENT ON COLUMN explication_transcript.violations IS 'Constraints that were violated; NULL if none.';
COMMENT ON COLUMN explication_transcript.undecided IS 'Constraints that could not be decided; NULL if none.';
COMMENT ON COLUMN explication_transcript.facts_told IS 'Facts that the user told; NULL if none.';
COMMENT ON COLUMN explication_transcript.n_facts IS 'Number of facts that a question can elicit.';
COMMENT ON COLUMN explication_transcript.n_elicited IS 'Number of these facts that the user told after a question about them.';
COMMENT ON COLUMN explication_transcript.apr IS 'Appropriateness, 1 to 10; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.interaction IS 'Quality of the questions to the user, 1 to 10; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.instruction_following IS '1 to 5; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.apr_shuffled IS 'Appropriateness with another persona''s recommendation; NULL if unscored.';
COMMENT ON COLUMN explication_transcript.disagreement IS 'Standard deviation of the judges'' appropriateness; NULL for fewer than two.';
