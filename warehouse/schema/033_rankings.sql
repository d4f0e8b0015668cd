-- Rankings of models by benchmarks that are not ours: those that a paper quotes, and those that users bring. And where
-- the published numbers of culturall are from.

CREATE TABLE external_rank (
    benchmark VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    place INTEGER NOT NULL CHECK (place > 0),
    known_as VARCHAR,
    source VARCHAR NOT NULL,
    topics VARCHAR,
    note VARCHAR,
    PRIMARY KEY (benchmark, model)
);
COMMENT ON TABLE external_rank IS 'Rankings of cultural benchmarks that Measuring Meta-Cultural Competency (anonymous authors, 2025) quotes in table 5.';
COMMENT ON COLUMN external_rank.benchmark IS 'Benchmark.';
COMMENT ON COLUMN external_rank.model IS 'Model, as the table prints it.';
COMMENT ON COLUMN external_rank.place IS 'Place, from 1: the best.';
COMMENT ON COLUMN external_rank.known_as IS 'Ids under which this model may have been run here, separated by |: which checkpoint was meant is not printed. NULL: none is known.';
COMMENT ON COLUMN external_rank.source IS 'Whose benchmark it is.';
COMMENT ON COLUMN external_rank.topics IS 'What it asks about, as printed.';
COMMENT ON COLUMN external_rank.note IS 'What else the table says; NULL for most.';

CREATE TABLE user_rank (
    benchmark VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    place INTEGER NOT NULL CHECK (place > 0),
    source VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL,
    PRIMARY KEY (benchmark, model)
);
COMMENT ON TABLE user_rank IS 'Rankings that users brought: culturemeter ranking FILE.';
COMMENT ON COLUMN user_rank.benchmark IS 'Benchmark.';
COMMENT ON COLUMN user_rank.model IS 'Model, as leaderboards show it, or its id.';
COMMENT ON COLUMN user_rank.place IS 'Place, from 1: the best; equal ones share it.';
COMMENT ON COLUMN user_rank.source IS 'File that it was read from.';
COMMENT ON COLUMN user_rank.added_at IS 'When it was read (UTC).';

COMMENT ON TABLE published_result IS 'Every cell with a number of every table of the five papers, as printed. Entered twice, independently, and compared: all cells agreed; those of culturall are from one file (note). Not checked by people.';
