-- Lists of log-probabilities are compared by a hash of all their rows, other kinds of answers as texts.
-- Judges are matched by the hash of their engine, other answers by the model's name: parts have no other identity,
-- and request_hash, which has one, depends on the occasion too.
CREATE OR REPLACE VIEW answer_change AS
WITH asked AS (
    SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, coalesce(r.occasion, '') AS occasion, r.run_id,
        r.finished_at, q.topic, q.label, q.request_hash
    FROM run AS r
    JOIN run_request AS q USING (run_id)
    WHERE r.status = 'finished' AND NOT r.is_null
), answer AS (
    SELECT 'response' AS kind, request_hash, model AS answered_by, item AS unit, text AS answer
    FROM response
    UNION ALL
    SELECT 'item_logprob', request_hash, model, country, bit_xor(hash(item, logprob))::VARCHAR
    FROM item_logprob
    GROUP BY ALL
    UNION ALL
    SELECT 'candidate_score', request_hash, model, prompt, bit_xor(hash(candidate, logprob))::VARCHAR
    FROM candidate_score
    GROUP BY ALL
), answered AS (
    SELECT a.evaluation, a.config_hash, a.model, a.engine_hash, a.occasion, a.finished_at, x.kind, x.answered_by,
        x.answered_by AS answerer, a.topic, a.label, x.unit, x.answer
    FROM asked AS a
    JOIN answer AS x USING (request_hash)
    UNION ALL
    SELECT r.evaluation, r.config_hash, r.model, r.engine_hash, coalesce(r.occasion, ''), r.finished_at, 'verdict',
        v.judge, coalesce(v.judge_hash, v.judge), v.rubric, v.judged, v.item, v.verdict
    FROM run AS r
    JOIN verdict AS v USING (run_id)
    WHERE r.status = 'finished' AND NOT r.is_null
)
SELECT x.evaluation, x.config_hash, x.model, x.engine_hash, x.occasion AS before_occasion,
    y.occasion AS after_occasion, x.kind, x.answered_by, x.topic, x.label, x.unit, x.answer AS before_answer,
    y.answer AS after_answer
FROM answered AS x
JOIN answered AS y USING (evaluation, config_hash, model, engine_hash, kind, answerer, topic, label, unit)
WHERE x.occasion <> y.occasion AND (x.finished_at, x.occasion) < (y.finished_at, y.occasion)
    AND x.answer IS DISTINCT FROM y.answer;

COMMENT ON VIEW answer_change IS 'Answers and verdicts that differ between two occasions of one configuration. Filter by model and both occasions: there are many pairs.';
COMMENT ON COLUMN answer_change.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN answer_change.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN answer_change.model IS 'Model that is evaluated.';
COMMENT ON COLUMN answer_change.engine_hash IS 'Engine of the row: run.engine_hash.';
COMMENT ON COLUMN answer_change.before_occasion IS 'Occasion that finished first: run.occasion.';
COMMENT ON COLUMN answer_change.after_occasion IS 'Occasion that finished later: run.occasion.';
COMMENT ON COLUMN answer_change.kind IS 'Kind of change: response (a text), item_logprob or candidate_score (any of the numbers of a list), verdict.';
COMMENT ON COLUMN answer_change.answered_by IS 'Engine that answered: the model, or another one such as a judge.';
COMMENT ON COLUMN answer_change.topic IS 'Subject (run_request.topic); for a verdict the rubric.';
COMMENT ON COLUMN answer_change.label IS 'Request of that topic: run_request.label; for a verdict, the judged answer.';
COMMENT ON COLUMN answer_change.unit IS 'Item, country or sentence: the unit of the kind.';
COMMENT ON COLUMN answer_change.before_answer IS 'Text or verdict before; for a list of numbers, its hash.';
COMMENT ON COLUMN answer_change.after_answer IS 'Text, verdict or hash after.';
