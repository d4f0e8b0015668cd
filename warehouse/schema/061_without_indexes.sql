-- The indexes of these two took six times the room of their rows, and every write copies the file. What kept rows
-- apart by a key now looks before it inserts (parts.py, registrations.py, runs.py).

CREATE TABLE part_unit_plain (
    kind VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    part VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    n_rows BIGINT NOT NULL CHECK (n_rows > 0),
    written_at TIMESTAMP NOT NULL
);
INSERT INTO part_unit_plain BY NAME FROM part_unit_base;
DROP TABLE part_unit_base;
ALTER TABLE part_unit_plain RENAME TO part_unit_base;

COMMENT ON TABLE part_unit_base IS 'part_unit as of the last write to this file. Query part_unit.';
COMMENT ON COLUMN part_unit_base.kind IS 'Kind of part, which is its folder under parts/.';
COMMENT ON COLUMN part_unit_base.request_hash IS 'What was asked: run_request.request_hash.';
COMMENT ON COLUMN part_unit_base.unit IS 'Which share of the request: the value of the column that is the unit of its kind (warehouse/kinds).';
COMMENT ON COLUMN part_unit_base.part IS 'Name of the part: parts/<kind>/<part>.parquet. It ends in a hyphen and the first 32 hex digits of the SHA-256 of the file, against which every read is checked; parts of older code have none.';
COMMENT ON COLUMN part_unit_base.run_id IS 'Run that did the work: run.run_id.';
COMMENT ON COLUMN part_unit_base.n_rows IS 'Rows of this unit in the part.';
COMMENT ON COLUMN part_unit_base.written_at IS 'When the part was registered (UTC).';

CREATE TABLE run_request_plain (
    run_id VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    label VARCHAR NOT NULL
);
INSERT INTO run_request_plain BY NAME FROM run_request;
DROP TABLE run_request;
ALTER TABLE run_request_plain RENAME TO run_request;

COMMENT ON TABLE run_request IS 'What each run asked of its engine. Runs that ask the same share the answer.';
COMMENT ON COLUMN run_request.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN run_request.request_hash IS 'Hash of all that determines the answers: engine, prompts or list, sampling, schema, boundary rule, and the occasion if there is one.';
COMMENT ON COLUMN run_request.topic IS 'What the request is about, in the words of its evaluation: a domain, a condition, a benchmark.';
COMMENT ON COLUMN run_request.label IS 'Which request of that topic: a question, a template, a repetition.';
