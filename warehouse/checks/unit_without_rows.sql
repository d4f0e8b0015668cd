-- Registered units whose part has another number of rows than registered: `culturemeter check` repairs them.
SELECT u.kind, u.request_hash, u.unit, u.part, u.n_rows, coalesce(s.n_rows, 0) AS n_shown
FROM part_unit AS u
LEFT JOIN unit_rows AS s USING (kind, request_hash, unit, part)
WHERE u.n_rows <> n_shown;
