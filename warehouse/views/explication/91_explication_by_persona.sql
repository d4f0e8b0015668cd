CREATE OR REPLACE VIEW explication_by_persona AS
WITH part AS (
    SELECT r.config_hash, r.profile, r.model, split_part(v.slice, ':', 1) AS persona, split_part(v.slice, ':', 2) AS condition,
        v.metric, v.value, v.n_scored, v.n_unscored, v.null_value, r.run_id, r.finished_at
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'explication' AND v.slice_kind = 'persona_condition'
), wide AS (
    SELECT config_hash, profile, model, persona, condition,
        any_value(value) FILTER (metric = 'apr') AS apr,
        any_value(null_value) FILTER (metric = 'apr') AS apr_null,
        any_value(value) FILTER (metric = 'interaction') AS interaction,
        any_value(value) FILTER (metric = 'instruction_following') AS instruction_following,
        any_value(value) FILTER (metric = 'facts_elicited') AS facts_elicited,
        any_value(value) FILTER (metric = 'facts_used') AS facts_used,
        any_value(value) FILTER (metric = 'violated') AS violated,
        max(n_scored + n_unscored) AS n_conversations, max(n_scored) FILTER (metric = 'apr') AS n_judged, run_id, finished_at
    FROM part
    GROUP BY ALL
)
SELECT wide.config_hash,
    row_number() OVER (PARTITION BY wide.config_hash ORDER BY wide.persona, wide.condition, wide.model) AS place,
    wide.* EXCLUDE (config_hash, run_id, finished_at), p.name AS persona_name, p.country, c.name AS country_name, p.cuisine,
    wide.run_id, wide.finished_at
FROM wide
LEFT JOIN explication_persona AS p USING (persona)
LEFT JOIN country AS c ON c.country = p.country;

COMMENT ON VIEW explication_by_persona IS 'The leaderboard''s numbers persona by persona: means over repetitions and tasks. Few conversations each.';
COMMENT ON COLUMN explication_by_persona.model IS 'Model; null recommenders are only on the leaderboard.';
COMMENT ON COLUMN explication_by_persona.interaction IS 'Quality of the questions to the user, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.instruction_following IS 'Instruction following, 1 to 5, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.facts_elicited IS 'Share of the persona''s facts told after a question about them.';
COMMENT ON COLUMN explication_by_persona.facts_used IS 'Share of facts that the recommendation takes into account.';
COMMENT ON COLUMN explication_by_persona.violated IS 'Share of decidable constraints that were violated.';
COMMENT ON COLUMN explication_by_persona.n_conversations IS 'Number of conversations of the persona under the condition.';
COMMENT ON COLUMN explication_by_persona.n_judged IS 'Number of these conversations with an APR.';
COMMENT ON COLUMN explication_by_persona.apr IS 'Appropriateness, 1 to 10, by the judges; NULL if unscored.';
COMMENT ON COLUMN explication_by_persona.apr_null IS 'Grade of the best null conversation by the same judges: another persona''s recommendation, a silent user, a generic recommendation at once, or one after fixed questions.';
COMMENT ON COLUMN explication_by_persona.place IS 'Order: by persona, condition and model.';
COMMENT ON COLUMN explication_by_persona.persona IS 'Persona: explication_persona.persona, or one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.condition IS 'control or treatment.';
COMMENT ON COLUMN explication_by_persona.persona_name IS 'The persona''s name; NULL for one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.country IS 'Country of the persona; NULL for one of the user''s own.';
COMMENT ON COLUMN explication_by_persona.country_name IS 'Name of that country.';
COMMENT ON COLUMN explication_by_persona.cuisine IS 'Cuisine that the persona grew up with; NULL for one of the user''s own.';
