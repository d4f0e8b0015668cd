-- Registrations go to a log beside this file (warehouse/registrations.py), and here when it is next written.

ALTER TABLE part_unit RENAME TO part_unit_base;
COMMENT ON TABLE part_unit_base IS 'part_unit as of the last write to this file. Query part_unit.';

CREATE VIEW part_unit AS
FROM part_unit_base
UNION ALL
FROM query(coalesce(getvariable('waiting'), 'SELECT * FROM part_unit_base WHERE false'));
COMMENT ON VIEW part_unit IS 'What has been answered, and which Parquet part holds the answer. What is not here is still to be done. Other programs than ours see what was registered up to the last write to this file.';
COMMENT ON COLUMN part_unit.kind IS 'Kind of part, which is its folder under parts/.';
COMMENT ON COLUMN part_unit.request_hash IS 'What was asked: run_request.request_hash.';
COMMENT ON COLUMN part_unit.unit IS 'Which share of the request: the country (item_logprob) or domain (country_similarity).';
COMMENT ON COLUMN part_unit.part IS 'Name of the part: parts/<kind>/<part>.parquet. It ends in a hyphen and the first 32 hex digits of the SHA-256 of the file, against which every read is checked; parts of older code have none.';
COMMENT ON COLUMN part_unit.run_id IS 'Run that did the work: run.run_id.';
COMMENT ON COLUMN part_unit.n_rows IS 'Rows of this unit in the part.';
COMMENT ON COLUMN part_unit.written_at IS 'When the part was registered (UTC).';

COMMENT ON COLUMN state.name IS '"home", "views", "reference/<file>", or "registrations".';
COMMENT ON COLUMN state.value IS 'The folder that the views read parts from, the SHA-256 of the file or files, or how far the log of registrations is in part_unit_base.';
