-- A part's name has the hash of its content, and small parts of a finished run become one.

CREATE TABLE superseded_part (
    kind VARCHAR,
    part VARCHAR,
    superseded_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, part)
);
COMMENT ON TABLE superseded_part IS 'Parts still on disk that answer nothing any more, because their rows were put into a larger part or others replaced them. Programs that opened the database before may still read them; after a day they are deleted.';
COMMENT ON COLUMN superseded_part.kind IS 'Kind of part.';
COMMENT ON COLUMN superseded_part.part IS 'Name of the part.';
COMMENT ON COLUMN superseded_part.superseded_at IS 'When that was noted (UTC).';

COMMENT ON COLUMN part_unit.part IS 'Name of the part: parts/<kind>/<part>.parquet. It ends in a hyphen and the first 32 hex digits of the SHA-256 of the file, against which every read is checked; parts of older code have none.';
