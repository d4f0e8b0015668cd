-- Content that users add in packs, as it was when a run used it: a number's input can be joined, and an edited pack is
-- another one.

CREATE TABLE pack (
    pack_hash VARCHAR PRIMARY KEY,
    pack VARCHAR NOT NULL,
    evaluation VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    licence VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE pack IS 'Content of users'' packs that runs have used, one row for each evaluation and each edition of a pack.';
COMMENT ON COLUMN pack.pack_hash IS 'Hash of the rows, whatever the pack is called and wherever it lies.';
COMMENT ON COLUMN pack.pack IS 'Name of the pack when this content was first used.';
COMMENT ON COLUMN pack.evaluation IS 'Evaluation to which it adds.';
COMMENT ON COLUMN pack.title IS 'What the pack is, as its pack.toml says.';
COMMENT ON COLUMN pack.version IS 'Version by its author''s counting; may be empty.';
COMMENT ON COLUMN pack.author IS 'Who made it; may be empty.';
COMMENT ON COLUMN pack.licence IS 'Its licence; may be empty.';
COMMENT ON COLUMN pack.source IS 'Where its content is from; may be empty.';
COMMENT ON COLUMN pack.added_at IS 'When a run first used it (UTC).';

CREATE TABLE pack_row (
    pack_hash VARCHAR,
    file VARCHAR,
    position INTEGER,
    content JSON NOT NULL,
    PRIMARY KEY (pack_hash, file, position)
);
COMMENT ON TABLE pack_row IS 'The rows of packs: content->>''column'' is a cell.';
COMMENT ON COLUMN pack_row.pack_hash IS 'Content: pack.pack_hash.';
COMMENT ON COLUMN pack_row.file IS 'File of the pack without its ending, such as domain, or its folder.';
COMMENT ON COLUMN pack_row.position IS 'Place in the file, from 0.';
COMMENT ON COLUMN pack_row.content IS 'The row''s filled cells by column.';

COMMENT ON COLUMN run.profile IS 'Run profile that set the parameters, and packs if there are any: smoke + pack NAME.';
