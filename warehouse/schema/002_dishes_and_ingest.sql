-- What the fmlama evaluation asks (dishes in any number of languages, templates, origin groups) and where live
-- data came from.

CREATE TABLE template (
    template VARCHAR PRIMARY KEY,
    evaluation VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    variant INTEGER NOT NULL,
    mentions_country BOOLEAN NOT NULL,
    text VARCHAR NOT NULL,
    UNIQUE (evaluation, language, variant, mentions_country)
);
COMMENT ON TABLE template IS 'Probing templates: sentences with a blank.';
COMMENT ON COLUMN template.template IS 'Identifier: evaluation, language, variant and, if it mentions the country, "c".';
COMMENT ON COLUMN template.evaluation IS 'Evaluation that uses it.';
COMMENT ON COLUMN template.language IS 'Language that it is written in, ISO 639-1.';
COMMENT ON COLUMN template.variant IS 'Number of the wording, from 1; the same number with and without the country.';
COMMENT ON COLUMN template.mentions_country IS 'Whether it has a slot [C].';
COMMENT ON COLUMN template.text IS '[X] stands for the dish, [C] for its country of origin, [Y] for the blank; [X] and [C] come before [Y].';

CREATE TABLE origin_group (
    origin VARCHAR PRIMARY KEY,
    origin_group VARCHAR NOT NULL
);
COMMENT ON TABLE origin_group IS 'The 14 cultural groups of FmLAMA (seed paper, section 5.1) and the origins that belong to each.';
COMMENT ON COLUMN origin_group.origin IS 'Origin as dish sets name it: dish.origin.';
COMMENT ON COLUMN origin_group.origin_group IS 'Group, as the paper names it.';

CREATE TABLE dish_set (
    dish_set VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    n_dishes INTEGER NOT NULL CHECK (n_dishes > 0),
    n_rows INTEGER NOT NULL CHECK (n_rows > 0),
    dropped JSON NOT NULL,
    loaded_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE dish_set IS 'Collections of dishes that were loaded; the shipped one is the view fmlama_dish''s own.';
COMMENT ON COLUMN dish_set.dish_set IS 'Name.';
COMMENT ON COLUMN dish_set.source IS 'Who fetched it and when, or the files it was read from.';
COMMENT ON COLUMN dish_set.n_dishes IS 'Dishes.';
COMMENT ON COLUMN dish_set.n_rows IS 'Rows: a dish has one a language.';
COMMENT ON COLUMN dish_set.dropped IS 'Reason to number of rows or dishes left out.';
COMMENT ON COLUMN dish_set.loaded_at IS 'When it was loaded (UTC).';

CREATE TABLE dish (
    dish_set VARCHAR,
    url VARCHAR,
    language VARCHAR,
    name VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    origin_name VARCHAR,
    ingredients VARCHAR[] NOT NULL,
    materials VARCHAR[] NOT NULL,
    image VARCHAR,
    PRIMARY KEY (dish_set, url, language)
);
COMMENT ON TABLE dish IS 'Dishes as FmLAMA has them: one row a dish and language, all texts in that language.';
COMMENT ON COLUMN dish.dish_set IS 'Collection: dish_set.dish_set.';
COMMENT ON COLUMN dish.url IS 'Wikidata entity, which identifies the dish across languages.';
COMMENT ON COLUMN dish.language IS 'Language of name, ingredients and materials.';
COMMENT ON COLUMN dish.name IS 'Name of the dish.';
COMMENT ON COLUMN dish.origin IS 'Country of origin, in English; the same in all languages.';
COMMENT ON COLUMN dish.origin_name IS 'Country of origin in the row''s language; NULL if the source has none.';
COMMENT ON COLUMN dish.ingredients IS 'What it has as parts (Wikidata P527): the reference.';
COMMENT ON COLUMN dish.materials IS 'What it is made from (Wikidata P186); not used by metrics.';
COMMENT ON COLUMN dish.image IS 'Address of an image; NULL if there is none.';

CREATE TABLE ingest (
    source VARCHAR,
    started_at TIMESTAMP,
    finished_at TIMESTAMP NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('replaced', 'unchanged', 'refused', 'failed')),
    url VARCHAR NOT NULL,
    n_pages INTEGER NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 VARCHAR,
    n_kept INTEGER,
    dropped JSON NOT NULL,
    message VARCHAR,
    PRIMARY KEY (source, started_at)
);
COMMENT ON TABLE ingest IS 'Every attempt to refresh a list or dish set from a live source.';
COMMENT ON COLUMN ingest.source IS 'Name of the source.';
COMMENT ON COLUMN ingest.started_at IS 'When it began (UTC).';
COMMENT ON COLUMN ingest.finished_at IS 'When it ended (UTC).';
COMMENT ON COLUMN ingest.status IS 'replaced; unchanged: the same items; refused: the items failed the sanity check; failed: nothing usable came. Only "replaced" changes the data.';
COMMENT ON COLUMN ingest.url IS 'Address, or file, of the first page.';
COMMENT ON COLUMN ingest.n_pages IS 'Pages, files or queries that answered.';
COMMENT ON COLUMN ingest.bytes IS 'Bytes of all of them.';
COMMENT ON COLUMN ingest.sha256 IS 'SHA-256 over their contents in order; NULL if nothing came.';
COMMENT ON COLUMN ingest.n_kept IS 'Items or dishes kept; NULL if none could be read.';
COMMENT ON COLUMN ingest.dropped IS 'Reason to number of what was left out.';
COMMENT ON COLUMN ingest.message IS 'Why it was refused or failed, and what to do.';

COMMENT ON COLUMN part_unit.unit IS 'Which share of the request: a country, domain, prompt, condition or conversation, by kind (warehouse/part_kinds.py).';
