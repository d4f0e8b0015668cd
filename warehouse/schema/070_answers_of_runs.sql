-- How large a run is, so that a small one does not take the place of a large one on leaderboards.

ALTER TABLE run ADD COLUMN n_answers BIGINT DEFAULT 0;
COMMENT ON COLUMN run.n_answers IS 'Answers that were stored for the run when it ended, whoever asked for them first: the configuration with the most is shown unless another is named.';

UPDATE run SET n_answers = answered.n
FROM (
    SELECT q.run_id, count(*) AS n FROM run_request AS q JOIN part_unit_base AS u USING (request_hash) GROUP BY q.run_id
) AS answered
WHERE run.run_id = answered.run_id AND run.status = 'finished';
