CREATE TABLE idiom (
    idiom VARCHAR PRIMARY KEY,
    language VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    meaning VARCHAR NOT NULL
);
COMMENT ON TABLE idiom IS 'Sayings with their meanings.';
COMMENT ON COLUMN idiom.idiom IS 'Identifier.';
COMMENT ON COLUMN idiom.language IS 'Language of the text.';
COMMENT ON COLUMN idiom.text IS 'The saying.';
COMMENT ON COLUMN idiom.meaning IS 'What it means.';
