-- Planned requests whose run is missing.
SELECT run_id, request_hash
FROM run_request
ANTI JOIN run USING (run_id);
