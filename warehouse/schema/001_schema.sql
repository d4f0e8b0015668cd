-- The tables of a warehouse, as version 0.2.0 has them. Later changes are further files: 002_<name>.sql.
-- All times are UTC. There are no foreign keys: with them DuckDB refuses to update a row that is referred to.
-- The files of warehouse/checks look for dangling references instead.
-- part_unit_base, run_request and metric_value_base have no primary key: its index takes six times the space of
-- the rows, and every write copies the file. Code looks for an existing row before it inserts one.

-- Reference data, the plan (run_request against part_unit) and results.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE migration IS 'Files of warehouse/schema that were applied to this database.';
COMMENT ON COLUMN migration.version IS 'Number that the file name begins with.';
COMMENT ON COLUMN migration.name IS 'File name.';
COMMENT ON COLUMN migration.sha256 IS 'SHA-256 of the file when it was applied; a changed file is refused.';
COMMENT ON COLUMN migration.applied_at IS 'When it was applied (UTC).';

CREATE TABLE state (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE state IS 'Versions of code and content that this database was last updated to; Warehouse.open() compares them.';
COMMENT ON COLUMN state.name IS '"home", "views", "reference/<file>", or "registrations".';
COMMENT ON COLUMN state.value IS 'For home: the folder of the parts that views read. For views and reference files: SHA-256 of the files. For registrations: position up to which the log of registrations is in part_unit_base.';

CREATE TABLE country (
    country VARCHAR PRIMARY KEY,
    alpha3 VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL,
    region VARCHAR NOT NULL,
    subregion VARCHAR NOT NULL,
    population BIGINT NOT NULL
);
COMMENT ON TABLE country IS 'Countries that prompts are about.';
COMMENT ON COLUMN country.country IS 'ISO 3166-1 alpha-2 code.';
COMMENT ON COLUMN country.alpha3 IS 'ISO 3166-1 alpha-3 code.';
COMMENT ON COLUMN country.name IS 'English name as it reads in a sentence, with its article.';
COMMENT ON COLUMN country.region IS 'UN M49 region.';
COMMENT ON COLUMN country.subregion IS 'UN M49 subregion.';
COMMENT ON COLUMN country.population IS 'Inhabitants, from CLDR.';

CREATE TABLE domain (
    domain VARCHAR PRIMARY KEY,
    label VARCHAR NOT NULL,
    item_list VARCHAR NOT NULL,
    prefix VARCHAR NOT NULL,
    human_question VARCHAR NOT NULL,
    human_score DOUBLE NOT NULL,
    human_sd DOUBLE NOT NULL,
    human_category VARCHAR NOT NULL CHECK (human_category IN ('LH', 'HL', 'HH', 'LL')),
    seed_items VARCHAR NOT NULL
);
COMMENT ON TABLE domain IS 'Cultural domains, with the category that people expect (Measuring Meta-Cultural Competency, 2025, tables 1 and 6).';
COMMENT ON COLUMN domain.domain IS 'Identifier of the domain.';
COMMENT ON COLUMN domain.label IS 'Name to show.';
COMMENT ON COLUMN domain.item_list IS 'List whose items are scored: item_list.item_list.';
COMMENT ON COLUMN domain.prefix IS 'Instruction before the question.';
COMMENT ON COLUMN domain.human_question IS 'Statement or list that the survey participants ranked.';
COMMENT ON COLUMN domain.human_score IS 'Mean rank that 80 participants gave, 1 to 9; low means common across countries.';
COMMENT ON COLUMN domain.human_sd IS 'Standard deviation of those ranks.';
COMMENT ON COLUMN domain.human_category IS 'Expected category: effective rank, then spectral gap ratio, each High or Low.';
COMMENT ON COLUMN domain.seed_items IS 'Number of items that the paper scored, as the paper prints it.';

CREATE TABLE question (
    question VARCHAR PRIMARY KEY,
    domain VARCHAR NOT NULL,
    variant INTEGER NOT NULL,
    template VARCHAR NOT NULL,
    UNIQUE (domain, variant)
);
COMMENT ON TABLE question IS 'Wordings of each domain''s question (Measuring Meta-Cultural Competency, 2025, table 7).';
COMMENT ON COLUMN question.question IS 'Identifier: domain, hyphen, variant.';
COMMENT ON COLUMN question.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN question.variant IS 'Number of the wording within its domain, from 1.';
COMMENT ON COLUMN question.template IS 'Text of the question; {country} stands for country.name.';

CREATE TABLE question_text (
    question VARCHAR,
    language VARCHAR,
    prefix VARCHAR NOT NULL,
    template VARCHAR NOT NULL,
    back_translation VARCHAR NOT NULL,
    PRIMARY KEY (question, language)
);
COMMENT ON TABLE question_text IS 'The questions of spectral in other languages, translated and translated back; not checked by speakers.';
COMMENT ON COLUMN question_text.question IS 'Question: question.question.';
COMMENT ON COLUMN question_text.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN question_text.prefix IS 'Instruction before the question.';
COMMENT ON COLUMN question_text.template IS 'Text of the question, with a colon for a cue; {country} stands for the country''s name in item_name.';
COMMENT ON COLUMN question_text.back_translation IS 'The question without the country, translated back into English in a second reading.';

CREATE TABLE item_name (
    item_list VARCHAR,
    item VARCHAR,
    language VARCHAR,
    name VARCHAR NOT NULL,
    PRIMARY KEY (item_list, item, language)
);
COMMENT ON TABLE item_name IS 'Names of items and countries in other languages, as they stand inside a sentence. An item without a row has no name there; a number is its own.';
COMMENT ON COLUMN item_name.item_list IS 'Name of the list, item_list.item_list; or country.';
COMMENT ON COLUMN item_name.item IS 'Item of the list, item.item; or country.country.';
COMMENT ON COLUMN item_name.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN item_name.name IS 'Name in that language; no other item of the list has it.';

CREATE TABLE source (
    file VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    licence VARCHAR NOT NULL,
    retrieved DATE NOT NULL,
    build VARCHAR NOT NULL,
    notes VARCHAR
);
COMMENT ON TABLE source IS 'Source of each file of warehouse/reference.';
COMMENT ON COLUMN source.file IS 'Path of the file in warehouse/reference.';
COMMENT ON COLUMN source.source IS 'Publisher of the data.';
COMMENT ON COLUMN source.version IS 'Version of the source.';
COMMENT ON COLUMN source.licence IS 'Licence, as an SPDX identifier where there is one.';
COMMENT ON COLUMN source.retrieved IS 'Date of retrieval.';
COMMENT ON COLUMN source.build IS 'Script in warehouse/reference that made the file, or "by hand".';
COMMENT ON COLUMN source.notes IS 'Selections and changes that were made.';

CREATE TABLE item_list (
    list_hash VARCHAR PRIMARY KEY,
    item_list VARCHAR NOT NULL,
    n_items INTEGER NOT NULL CHECK (n_items > 0),
    source VARCHAR NOT NULL,
    loaded_at TIMESTAMP NOT NULL,
    is_current BOOLEAN NOT NULL
);
COMMENT ON TABLE item_list IS 'Versions of every item list. Old versions stay, so that old results still join.';
COMMENT ON COLUMN item_list.list_hash IS 'First 16 hex digits of the SHA-256 of the sorted items, one a line.';
COMMENT ON COLUMN item_list.item_list IS 'Name of the list.';
COMMENT ON COLUMN item_list.n_items IS 'Number of items.';
COMMENT ON COLUMN item_list.source IS 'Reference file (source.file), or the scraper that fetched it.';
COMMENT ON COLUMN item_list.loaded_at IS 'When this version was last loaded (UTC).';
COMMENT ON COLUMN item_list.is_current IS 'Whether new runs use it; true for one version of each list.';

CREATE TABLE item (
    list_hash VARCHAR,
    position INTEGER NOT NULL,
    item VARCHAR,
    aliases VARCHAR[] NOT NULL,
    countries VARCHAR[] NOT NULL,
    ingredients VARCHAR[] NOT NULL,
    code VARCHAR,
    PRIMARY KEY (list_hash, item)
);
COMMENT ON TABLE item IS 'Items that models choose among, in every version of every list.';
COMMENT ON COLUMN item.list_hash IS 'Version of the list: item_list.list_hash.';
COMMENT ON COLUMN item.position IS 'Place in the list as loaded, from 0.';
COMMENT ON COLUMN item.item IS 'Text that is scored.';
COMMENT ON COLUMN item.aliases IS 'Other names; not scored.';
COMMENT ON COLUMN item.countries IS 'Countries that the reference has the item for: country.country.';
COMMENT ON COLUMN item.ingredients IS 'Ingredients of a dish; empty for other lists.';
COMMENT ON COLUMN item.code IS 'ISO code of a language or currency; NULL where there is none.';

CREATE TABLE metric (
    evaluation VARCHAR,
    metric VARCHAR,
    label VARCHAR NOT NULL,
    is_headline BOOLEAN NOT NULL DEFAULT false,
    unit VARCHAR NOT NULL,
    range_low DOUBLE,
    range_high DOUBLE,
    direction VARCHAR NOT NULL CHECK (direction IN ('higher', 'lower', 'none')),
    description VARCHAR NOT NULL,
    null_baseline VARCHAR NOT NULL,
    unscored_when VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    PRIMARY KEY (evaluation, metric)
);
COMMENT ON TABLE metric IS 'Catalogue: what each number means.';
COMMENT ON COLUMN metric.evaluation IS 'Evaluation that computes it.';
COMMENT ON COLUMN metric.metric IS 'Identifier, unique within the evaluation.';
COMMENT ON COLUMN metric.label IS 'Name to show.';
COMMENT ON COLUMN metric.is_headline IS 'Whether the metric is one of the few that sum up the evaluation.';
COMMENT ON COLUMN metric.unit IS 'Unit of the value.';
COMMENT ON COLUMN metric.range_low IS 'Lowest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.range_high IS 'Highest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.direction IS 'Direction that is better: higher, lower, or none.';
COMMENT ON COLUMN metric.description IS 'Definition of the metric, and the meaning of its ends.';
COMMENT ON COLUMN metric.null_baseline IS 'Source of null_value, such as a null model; "none" if there is none.';
COMMENT ON COLUMN metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN metric.source IS 'Source of the definition.';

CREATE TABLE run_base (
    run_id VARCHAR PRIMARY KEY,
    evaluation VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    is_null BOOLEAN NOT NULL,
    profile VARCHAR NOT NULL,
    config_hash VARCHAR NOT NULL,
    engine_hash VARCHAR NOT NULL,
    params JSON NOT NULL,
    engine JSON NOT NULL,
    item_lists JSON NOT NULL,
    boundary_rule VARCHAR NOT NULL,
    code_version VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    status VARCHAR NOT NULL CHECK (status IN ('running', 'finished', 'failed', 'cancelled')),
    occasion VARCHAR DEFAULT '',
    model_hash VARCHAR DEFAULT '',
    n_answers BIGINT DEFAULT 0
);
COMMENT ON TABLE run_base IS 'Runs, under the names that they were saved with. Query run.';
COMMENT ON COLUMN run_base.run_id IS 'Hash of configuration, engine, boundary rule and code version, and of cohort, packs and occasion if there are any.';
COMMENT ON COLUMN run_base.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN run_base.model IS 'Model, as its engine''s spec was named.';
COMMENT ON COLUMN run_base.is_null IS 'Whether the run is of a null model.';
COMMENT ON COLUMN run_base.profile IS 'Run profile that set the parameters, and packs if there are any: smoke + pack NAME.';
COMMENT ON COLUMN run_base.config_hash IS 'Hash of everything that must be equal if two models are to be compared.';
COMMENT ON COLUMN run_base.engine_hash IS 'Hash of everything that determines the answers of an engine: kind, model, revision, prompt style, precision, options; for a server its address, reasoning and web search. Device, batch size and price are left out.';
COMMENT ON COLUMN run_base.params IS 'Parameters of the evaluation.';
COMMENT ON COLUMN run_base.engine IS 'Engine spec: kind, model, revision, dtype and so on; for a model server, its host, port and path, or the name that replaces them.';
COMMENT ON COLUMN run_base.item_lists IS 'Name to list_hash of the item lists used.';
COMMENT ON COLUMN run_base.boundary_rule IS 'Rule by which prefix and continuation were tokenised.';
COMMENT ON COLUMN run_base.code_version IS 'Version of the code.';
COMMENT ON COLUMN run_base.started_at IS 'When the run last began to work (UTC).';
COMMENT ON COLUMN run_base.finished_at IS 'When the run ended: finished, failed or cancelled (UTC); NULL if it is running or was killed.';
COMMENT ON COLUMN run_base.status IS 'running, finished, failed or cancelled. Leaderboards show finished runs only.';
COMMENT ON COLUMN run_base.occasion IS 'Name of the occasion, such as 2026-w48; empty for a run that uses earlier answers.';
COMMENT ON COLUMN run_base.model_hash IS 'Hash of weights with their adapter, revision and prompt style; for a server, of its address, the model''s name, reasoning and web search. It leaves out engine, precision and options, so that evaluations are joined on it. null for null models.';
COMMENT ON COLUMN run_base.n_answers IS 'Number of answers stored for the run when it ended, whichever run requested them first. By default pages show the configuration with the most.';

CREATE TABLE model_name (
    model_hash VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL,
    named_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE model_name IS 'Names that the user gave to models (culturemeter models rename). Every view shows them in place of the names that runs were saved with.';
COMMENT ON COLUMN model_name.model_hash IS 'Model: run.model_hash.';
COMMENT ON COLUMN model_name.name IS 'Name to show.';
COMMENT ON COLUMN model_name.named_at IS 'When it was given (UTC).';

CREATE TABLE run_request (
    run_id VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    label VARCHAR NOT NULL
);
COMMENT ON TABLE run_request IS 'Requests of each run to its engine. Runs with the same request share its answers.';
COMMENT ON COLUMN run_request.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN run_request.request_hash IS 'Hash of everything that determines the answers: engine, prompts or list, sampling, schema, boundary rule, and the occasion if there is one.';
COMMENT ON COLUMN run_request.topic IS 'Topic of the request in the words of its evaluation: a domain, a condition, a benchmark.';
COMMENT ON COLUMN run_request.label IS 'Name of the request within the topic: a question, a template, a repetition.';

CREATE TABLE part_unit_base (
    kind VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    part VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    n_rows BIGINT NOT NULL CHECK (n_rows > 0),
    written_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE part_unit_base IS 'part_unit as of the last write to this file. Query part_unit.';
COMMENT ON COLUMN part_unit_base.kind IS 'Kind of part, which is its folder under parts/.';
COMMENT ON COLUMN part_unit_base.request_hash IS 'Request that this answers: run_request.request_hash.';
COMMENT ON COLUMN part_unit_base.unit IS 'Unit of the request: the value of the kind''s unit column (warehouse/kinds).';
COMMENT ON COLUMN part_unit_base.part IS 'Name of the part: parts/<kind>/<part>.parquet. It ends in a hyphen and the first 32 hex digits of the SHA-256 of the file, against which every read is checked.';
COMMENT ON COLUMN part_unit_base.run_id IS 'Run that did the work: run.run_id.';
COMMENT ON COLUMN part_unit_base.n_rows IS 'Number of rows of this unit in the part.';
COMMENT ON COLUMN part_unit_base.written_at IS 'When the part was registered (UTC).';

CREATE TABLE metric_value_base (
    run_id VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    slice_kind VARCHAR NOT NULL,
    slice VARCHAR NOT NULL,
    value DOUBLE CHECK (NOT isnan(value)),
    unscored_reason VARCHAR,
    n_scored BIGINT NOT NULL CHECK (n_scored >= 0),
    n_unscored BIGINT NOT NULL CHECK (n_unscored >= 0),
    ci_low DOUBLE CHECK (NOT isnan(ci_low)),
    ci_high DOUBLE CHECK (NOT isnan(ci_high)),
    null_value DOUBLE CHECK (NOT isnan(null_value)),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL))
);
COMMENT ON TABLE metric_value_base IS 'Rows of metric_value that are not in parts yet. Query metric_value.';
COMMENT ON COLUMN metric_value_base.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN metric_value_base.model IS 'Model: run.model.';
COMMENT ON COLUMN metric_value_base.metric IS 'Metric: metric.metric of the run''s evaluation.';
COMMENT ON COLUMN metric_value_base.slice_kind IS 'overall, domain, question, country and so on.';
COMMENT ON COLUMN metric_value_base.slice IS 'Name of the domain, question or country; "all" for overall.';
COMMENT ON COLUMN metric_value_base.value IS 'The number, infinite where its definition says so; NULL if unscored.';
COMMENT ON COLUMN metric_value_base.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN metric_value_base.n_scored IS 'Number of points from which the value is computed.';
COMMENT ON COLUMN metric_value_base.n_unscored IS 'Number of points that belong to the value but could not be scored.';
COMMENT ON COLUMN metric_value_base.ci_low IS 'Lower end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value_base.ci_high IS 'Upper end of the 95 % interval (docs/intervals.md); NULL if there is none.';
COMMENT ON COLUMN metric_value_base.null_value IS 'Value of a null model for the same metric and slice (metric.null_baseline); NULL if there is none.';

-- Registrations go to a log beside this file (warehouse/registrations.py), and into part_unit_base when the file
-- is next written.
CREATE VIEW part_unit AS
FROM part_unit_base
UNION ALL
FROM query(coalesce(getvariable('waiting'), 'SELECT * FROM part_unit_base WHERE false'));
COMMENT ON VIEW part_unit IS 'Units that are answered, and the Parquet part that holds each answer. A unit without a row is still to be answered. Other programs than culturemeter see the registrations up to the last write to this file.';
COMMENT ON COLUMN part_unit.kind IS 'Kind of part, which is its folder under parts/.';
COMMENT ON COLUMN part_unit.request_hash IS 'Request that this answers: run_request.request_hash.';
COMMENT ON COLUMN part_unit.unit IS 'Unit of the request: the value of the kind''s unit column (warehouse/kinds).';
COMMENT ON COLUMN part_unit.part IS 'Name of the part: parts/<kind>/<part>.parquet. It ends in a hyphen and the first 32 hex digits of the SHA-256 of the file, against which every read is checked.';
COMMENT ON COLUMN part_unit.run_id IS 'Run that did the work: run.run_id.';
COMMENT ON COLUMN part_unit.n_rows IS 'Number of rows of this unit in the part.';
COMMENT ON COLUMN part_unit.written_at IS 'When the part was registered (UTC).';

-- Content of fmlama: dishes in any number of languages, templates and groups of origins; and sources of live data.

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
COMMENT ON COLUMN template.template IS 'Identifier: evaluation, language, variant and, if the template names the country, "c".';
COMMENT ON COLUMN template.evaluation IS 'Evaluation that uses it.';
COMMENT ON COLUMN template.language IS 'Language that it is written in, ISO 639-1.';
COMMENT ON COLUMN template.variant IS 'Number of the wording, from 1; the same number with and without the country.';
COMMENT ON COLUMN template.mentions_country IS 'Whether the template has a slot [C] for the country.';
COMMENT ON COLUMN template.text IS '[X] stands for the dish, [C] for its country of origin, [Y] for the blank; [X] and [C] come before [Y].';

CREATE TABLE origin_group (
    origin VARCHAR PRIMARY KEY,
    origin_group VARCHAR NOT NULL
);
COMMENT ON TABLE origin_group IS 'The 14 cultural groups of FmLAMA (Zhou et al. 2025, section 5.1) and the origins that belong to each.';
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
COMMENT ON TABLE dish_set IS 'Collections of dishes that were loaded; the view fmlama_dish adds the shipped one.';
COMMENT ON COLUMN dish_set.dish_set IS 'Name.';
COMMENT ON COLUMN dish_set.source IS 'Address of the data and time of the download, or files that were read.';
COMMENT ON COLUMN dish_set.n_dishes IS 'Dishes.';
COMMENT ON COLUMN dish_set.n_rows IS 'Number of rows: one per dish and language.';
COMMENT ON COLUMN dish_set.dropped IS 'JSON from reason to number of rows or dishes left out.';
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
COMMENT ON TABLE dish IS 'Dishes for FmLAMA: one row per dish and language, all texts in that language.';
COMMENT ON COLUMN dish.dish_set IS 'Collection: dish_set.dish_set.';
COMMENT ON COLUMN dish.url IS 'Wikidata entity, which identifies the dish across languages.';
COMMENT ON COLUMN dish.language IS 'Language of name, ingredients and materials.';
COMMENT ON COLUMN dish.name IS 'Name of the dish.';
COMMENT ON COLUMN dish.origin IS 'Country of origin, in English; the same in all languages.';
COMMENT ON COLUMN dish.origin_name IS 'Country of origin in the row''s language; NULL if the source has none.';
COMMENT ON COLUMN dish.ingredients IS 'Parts of the dish (Wikidata P527): the reference.';
COMMENT ON COLUMN dish.materials IS 'Materials of the dish (Wikidata P186); no metric uses them.';
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
COMMENT ON COLUMN ingest.status IS 'replaced: the items are new. unchanged: the items are the same. refused: the items failed the sanity check. failed: there was no usable response. Only "replaced" changes the data.';
COMMENT ON COLUMN ingest.url IS 'Address, or file, of the first page.';
COMMENT ON COLUMN ingest.n_pages IS 'Number of pages, files or queries that were read.';
COMMENT ON COLUMN ingest.bytes IS 'Total size of these pages, files or queries in bytes.';
COMMENT ON COLUMN ingest.sha256 IS 'SHA-256 of their contents in order; NULL if nothing was read.';
COMMENT ON COLUMN ingest.n_kept IS 'Number of items or dishes kept; NULL if none could be read.';
COMMENT ON COLUMN ingest.dropped IS 'JSON from reason to number of items or dishes left out.';
COMMENT ON COLUMN ingest.message IS 'Why the attempt was refused or failed, and what to do.';

-- Content of worldwise. Dimensions of any framework are rows.

CREATE TABLE dimension (
    framework VARCHAR,
    dimension VARCHAR,
    label VARCHAR NOT NULL,
    low_label VARCHAR NOT NULL,
    high_label VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    PRIMARY KEY (framework, dimension)
);
COMMENT ON TABLE dimension IS 'The axes that answers are projected on (WorldWiseAI 2024, section 7.3; Schwartz 1992).';
COMMENT ON COLUMN dimension.framework IS 'Theory that it belongs to: hofstede or schwartz.';
COMMENT ON COLUMN dimension.dimension IS 'Identifier, unique within the framework.';
COMMENT ON COLUMN dimension.label IS 'Name for display, as the author of the framework has it.';
COMMENT ON COLUMN dimension.low_label IS 'Meaning of the low end.';
COMMENT ON COLUMN dimension.high_label IS 'Meaning of the high end.';
COMMENT ON COLUMN dimension.description IS 'Definition of the dimension.';

CREATE TABLE exemplar (
    framework VARCHAR,
    dimension VARCHAR,
    pole VARCHAR CHECK (pole IN ('high', 'low')),
    number INTEGER CHECK (number > 0),
    text VARCHAR NOT NULL,
    PRIMARY KEY (framework, dimension, pole, number)
);
COMMENT ON TABLE exemplar IS 'Statements that stand for the two ends of each dimension. They contain no wording of guiding_value.';
COMMENT ON COLUMN exemplar.framework IS 'Framework: dimension.framework.';
COMMENT ON COLUMN exemplar.dimension IS 'Dimension: dimension.dimension.';
COMMENT ON COLUMN exemplar.pole IS 'End that it stands for: high or low.';
COMMENT ON COLUMN exemplar.number IS 'Number within the pole, from 1. Both poles have equally many statements of similar length, so that form cancels out.';
COMMENT ON COLUMN exemplar.text IS 'The statement.';

CREATE TABLE guiding_value (
    value VARCHAR PRIMARY KEY,
    label VARCHAR NOT NULL UNIQUE,
    description VARCHAR NOT NULL
);
COMMENT ON TABLE guiding_value IS 'Values from which a model names three to explain its decision. They include the most frequent values of section 4.9 of WorldWiseAI 2024.';
COMMENT ON COLUMN guiding_value.value IS 'Identifier.';
COMMENT ON COLUMN guiding_value.label IS 'Name, as models see and return it.';
COMMENT ON COLUMN guiding_value.description IS 'Meaning of the value.';

CREATE TABLE scenario (
    scenario VARCHAR PRIMARY KEY,
    framework VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    region VARCHAR NOT NULL CHECK (
        region IN ('Africa', 'Americas', 'Asia', 'Europe', 'Oceania', 'Middle East', 'none')
    ),
    is_multi BOOLEAN NOT NULL,
    other_dimensions VARCHAR,
    text VARCHAR NOT NULL,
    option_a VARCHAR NOT NULL,
    option_b VARCHAR NOT NULL,
    pole_a VARCHAR NOT NULL CHECK (pole_a IN ('high', 'low')),
    CHECK (is_multi = (other_dimensions IS NOT NULL)),
    CHECK (option_a <> option_b)
);
COMMENT ON TABLE scenario IS 'Everyday dilemmas whose two options differ on one primary dimension. No answer is right.';
COMMENT ON COLUMN scenario.scenario IS 'Identifier.';
COMMENT ON COLUMN scenario.framework IS 'Framework: dimension.framework.';
COMMENT ON COLUMN scenario.dimension IS 'Primary dimension: dimension.dimension.';
COMMENT ON COLUMN scenario.category IS 'Domain of life.';
COMMENT ON COLUMN scenario.region IS 'Part of the world that names and places suggest; "none" if they suggest none.';
COMMENT ON COLUMN scenario.is_multi IS 'Whether the options differ on further dimensions too.';
COMMENT ON COLUMN scenario.other_dimensions IS 'Further dimensions on which the options differ, of the same framework, separated by |; NULL if there are none.';
COMMENT ON COLUMN scenario.text IS 'The dilemma, ending with the question.';
COMMENT ON COLUMN scenario.option_a IS 'First option.';
COMMENT ON COLUMN scenario.option_b IS 'Second option.';
COMMENT ON COLUMN scenario.pole_a IS 'End of the primary dimension that option A stands for; option B stands for the other.';

CREATE TABLE culture_profile (
    profile VARCHAR,
    country VARCHAR,
    dimension VARCHAR,
    score DOUBLE NOT NULL CHECK (NOT isnan(score)),
    framework VARCHAR,
    PRIMARY KEY (profile, country, framework, dimension),
    CHECK (profile <> 'seed_bucketed' OR score BETWEEN -2 AND 2),
    CHECK (profile NOT IN ('hofstede_published', 'hofstede_regional') OR score BETWEEN 0 AND 120)
);
COMMENT ON TABLE culture_profile IS 'Values of countries on the dimensions of a framework: as its authors measured them, or as others derived them (profile). A dimension without a measurement has no row.';
COMMENT ON COLUMN culture_profile.profile IS 'hofstede_published: a country''s own scores. hofstede_regional: its own scores, and for missing ones the score of the region that it was surveyed in. seed_bucketed: WorldWiseAI 2024, section 7.4.';
COMMENT ON COLUMN culture_profile.country IS 'Country: country.country.';
COMMENT ON COLUMN culture_profile.dimension IS 'Dimension: dimension.dimension.';
COMMENT ON COLUMN culture_profile.score IS 'For seed_bucketed, -2 to 2. For other profiles, 0 to 100 by design, though countries added later reach up to 112.';
COMMENT ON COLUMN culture_profile.framework IS 'Framework: dimension.framework.';

CREATE TABLE stereotype (
    phrase VARCHAR,
    country_or_region VARCHAR NOT NULL,
    language VARCHAR,
    PRIMARY KEY (language, phrase)
);
COMMENT ON TABLE stereotype IS 'Phrases that generalise about a whole people, attribute conduct to descent, or present a culture as strange or lesser. They are listed only to be counted in answers (stereotype score); the list endorses none and is not complete.';
COMMENT ON COLUMN stereotype.phrase IS 'Phrase to look for, in upper or lower case.';
COMMENT ON COLUMN stereotype.country_or_region IS 'People that the phrase is about: country.country, a region, or "any".';
COMMENT ON COLUMN stereotype.language IS 'Language that it is written in, ISO 639-1.';

CREATE TABLE persona (
    language VARCHAR PRIMARY KEY,
    text VARCHAR NOT NULL CHECK (contains(text, '{country}'))
);
COMMENT ON TABLE persona IS 'System prompts that make a model answer as somebody from a country. An answer without one is the baseline.';
COMMENT ON COLUMN persona.language IS 'Language that it is written in, ISO 639-1.';
COMMENT ON COLUMN persona.text IS 'The prompt; {country} stands for the country''s name in that language, in its plain form.';

-- Content of cure.

CREATE TABLE cure_item (
    benchmark VARCHAR CHECK (benchmark IN ('normad', 'casa', 'culturebank', 'specnorm')),
    item VARCHAR,
    country VARCHAR NOT NULL,
    group_name VARCHAR,
    persona VARCHAR,
    situation VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    label VARCHAR NOT NULL CHECK (label IN ('yes', 'no') OR (benchmark = 'normad' AND label = 'neutral')),
    gold VARCHAR NOT NULL,
    cues VARCHAR,
    rule VARCHAR,
    PRIMARY KEY (benchmark, item)
);
COMMENT ON TABLE cure_item IS 'Shipped samples of the four CURE benchmarks: is a behaviour acceptable in a situation, and why?';
COMMENT ON COLUMN cure_item.benchmark IS 'normad: a story to be judged. casa: a request around a symbol, adhering or violating. culturebank: advice for a persona. specnorm: a norm of a subgroup.';
COMMENT ON COLUMN cure_item.item IS 'Identifier within the benchmark.';
COMMENT ON COLUMN cure_item.country IS 'Country: country.country.';
COMMENT ON COLUMN cure_item.group_name IS 'culturebank, specnorm: the cultural group. normad, casa: the topic. NULL if there is none.';
COMMENT ON COLUMN cure_item.persona IS 'Person in the situation; NULL if the benchmark has none.';
COMMENT ON COLUMN cure_item.situation IS 'Situation, or request of the user.';
COMMENT ON COLUMN cure_item.question IS 'Question about the situation.';
COMMENT ON COLUMN cure_item.label IS 'The right answer: yes, no or (normad) neutral.';
COMMENT ON COLUMN cure_item.gold IS 'Norm behind the label, or the meaning of the symbol (casa), against which explanations are judged.';
COMMENT ON COLUMN cure_item.cues IS 'specnorm: words that mark the subgroup, such as "ethnicity: Sámi". casa: words of the query that name the symbol. Separated by |; NULL if there are none.';
COMMENT ON COLUMN cure_item.rule IS 'normad: rule of thumb. casa: the norm that the violating query breaks. specnorm: specificity (low, medium, high). NULL if there is none.';

CREATE TABLE specnorm_seed (
    statement VARCHAR PRIMARY KEY,
    country VARCHAR NOT NULL,
    region VARCHAR,
    ethnicity VARCHAR,
    religion VARCHAR,
    age VARCHAR,
    gender VARCHAR,
    occupation VARCHAR,
    marital_status VARCHAR,
    topic VARCHAR NOT NULL
);
COMMENT ON TABLE specnorm_seed IS 'Statements about norms of subgroups from which SpecNorm items are built.';
COMMENT ON COLUMN specnorm_seed.statement IS 'The norm.';
COMMENT ON COLUMN specnorm_seed.country IS 'Country: country.country.';
COMMENT ON COLUMN specnorm_seed.region IS 'Part of the country where the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.ethnicity IS 'Ethnicity for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.religion IS 'Religion for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.age IS 'Age for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.gender IS 'Gender for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.occupation IS 'Occupation for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.marital_status IS 'Marital status for which the norm holds; NULL if not stated.';
COMMENT ON COLUMN specnorm_seed.topic IS 'Topic of the norm.';

-- The build of SpecNorm: drafts with their decisions, and the published items.

CREATE TABLE specnorm_draft (
    draft VARCHAR PRIMARY KEY,
    seed VARCHAR NOT NULL,
    statement VARCHAR NOT NULL,
    country VARCHAR,
    country_name VARCHAR NOT NULL,
    cues VARCHAR NOT NULL,
    specificity VARCHAR NOT NULL CHECK (specificity IN ('low', 'medium', 'high')),
    stance VARCHAR NOT NULL CHECK (stance IN ('yes', 'no')),
    persona VARCHAR,
    situation VARCHAR,
    question VARCHAR,
    label VARCHAR CHECK (label IN ('yes', 'no')),
    norm VARCHAR,
    text_hash VARCHAR,
    model VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    response_item VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    drafted_at TIMESTAMP NOT NULL,
    faults VARCHAR[] NOT NULL,
    fault_details VARCHAR[] NOT NULL,
    status VARCHAR NOT NULL CHECK (status IN ('rejected_by_checks', 'queued', 'accepted', 'revised', 'rejected')),
    reviewer VARCHAR,
    note VARCHAR,
    reviewed_at TIMESTAMP,
    CHECK ((status = 'rejected_by_checks') = (len(faults) > 0)),
    CHECK (len(faults) = len(fault_details)),
    CHECK ((status IN ('accepted', 'revised', 'rejected')) = (reviewer IS NOT NULL)),
    CHECK ((reviewer IS NULL) = (reviewed_at IS NULL))
);
COMMENT ON TABLE specnorm_draft IS 'SpecNorm items that models drafted, with their seed, the results of checks and the decisions of people.';
COMMENT ON COLUMN specnorm_draft.draft IS 'Identifier: hash of request_hash and response_item.';
COMMENT ON COLUMN specnorm_draft.seed IS 'Identifier of the seed: hash of country, statement and cues.';
COMMENT ON COLUMN specnorm_draft.statement IS 'The seed''s norm: specnorm_seed.statement, or from a user''s file.';
COMMENT ON COLUMN specnorm_draft.country IS 'Country: country.country; NULL if the seed''s country is not in that table.';
COMMENT ON COLUMN specnorm_draft.country_name IS 'Name of the country in the prompt.';
COMMENT ON COLUMN specnorm_draft.cues IS 'Words that mark the subgroup, such as "ethnicity: Sámi", separated by |.';
COMMENT ON COLUMN specnorm_draft.specificity IS 'Level by number of cues: low (1), medium (2 or 3), high (4 or more).';
COMMENT ON COLUMN specnorm_draft.stance IS 'Answer that the prompt requests for the situation: yes, the norm is kept; no, it is broken.';
COMMENT ON COLUMN specnorm_draft.persona IS 'Persona in the model''s own words, like the next four columns; NULL if its answer could not be read.';
COMMENT ON COLUMN specnorm_draft.situation IS 'Situation.';
COMMENT ON COLUMN specnorm_draft.question IS 'Question about the situation.';
COMMENT ON COLUMN specnorm_draft.label IS 'The model''s own answer: yes or no.';
COMMENT ON COLUMN specnorm_draft.norm IS 'The norm in the model''s words.';
COMMENT ON COLUMN specnorm_draft.text_hash IS 'Hash of persona, situation, question, label and norm, which the review queue carries; NULL if the answer could not be read.';
COMMENT ON COLUMN specnorm_draft.model IS 'Model that wrote the draft.';
COMMENT ON COLUMN specnorm_draft.prompt_hash IS 'Hash of the prompt''s wording.';
COMMENT ON COLUMN specnorm_draft.request_hash IS 'Hash of engine and sampling: response.request_hash.';
COMMENT ON COLUMN specnorm_draft.response_item IS 'Item of the stored answer; with request_hash it identifies the answer.';
COMMENT ON COLUMN specnorm_draft.run_id IS 'Build that drafted it: run.run_id.';
COMMENT ON COLUMN specnorm_draft.drafted_at IS 'When the draft was checked and stored (UTC).';
COMMENT ON COLUMN specnorm_draft.faults IS 'Names of the reasons why the checks reject the draft; empty if there are none.';
COMMENT ON COLUMN specnorm_draft.fault_details IS 'Details of the faults, one text for each fault.';
COMMENT ON COLUMN specnorm_draft.status IS 'rejected_by_checks; queued: waits for a review; accepted, revised, rejected: by a reviewer.';
COMMENT ON COLUMN specnorm_draft.reviewer IS 'Who decided; NULL before a review.';
COMMENT ON COLUMN specnorm_draft.note IS 'Reason in the reviewer''s words; NULL if there is none.';
COMMENT ON COLUMN specnorm_draft.reviewed_at IS 'When the decision was read (UTC); NULL before.';

CREATE TABLE specnorm_item (
    item VARCHAR PRIMARY KEY,
    country VARCHAR,
    country_name VARCHAR NOT NULL,
    group_name VARCHAR NOT NULL,
    persona VARCHAR NOT NULL,
    situation VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    label VARCHAR NOT NULL CHECK (label IN ('yes', 'no')),
    norm VARCHAR NOT NULL,
    cues VARCHAR NOT NULL,
    specificity VARCHAR NOT NULL CHECK (specificity IN ('low', 'medium', 'high')),
    draft VARCHAR NOT NULL,
    seed VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    decision VARCHAR NOT NULL CHECK (decision IN ('accept', 'revise')),
    reviewer VARCHAR NOT NULL,
    reviewed_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE specnorm_item IS 'Published SpecNorm items: drafts that a reviewer accepted or revised, with their provenance.';
COMMENT ON COLUMN specnorm_item.item IS 'Identifier; an evaluation that reads a file with these items uses the same one.';
COMMENT ON COLUMN specnorm_item.country IS 'Country: country.country; NULL if it is not in that table.';
COMMENT ON COLUMN specnorm_item.country_name IS 'Name of the country.';
COMMENT ON COLUMN specnorm_item.group_name IS 'The subgroup that results are broken down by.';
COMMENT ON COLUMN specnorm_item.persona IS 'Person in the situation, as published, like the next four.';
COMMENT ON COLUMN specnorm_item.situation IS 'Situation.';
COMMENT ON COLUMN specnorm_item.question IS 'Question about the situation.';
COMMENT ON COLUMN specnorm_item.label IS 'The right answer: yes, acceptable in the subgroup; no, not acceptable.';
COMMENT ON COLUMN specnorm_item.norm IS 'The norm behind it.';
COMMENT ON COLUMN specnorm_item.cues IS 'Words that mark the subgroup, such as "ethnicity: Sámi", separated by |.';
COMMENT ON COLUMN specnorm_item.specificity IS 'Level by number of cues: low (1), medium (2 or 3), high (4 or more).';
COMMENT ON COLUMN specnorm_item.draft IS 'Draft that it comes from: specnorm_draft.draft.';
COMMENT ON COLUMN specnorm_item.seed IS 'Seed that the draft was built on: specnorm_draft.seed.';
COMMENT ON COLUMN specnorm_item.model IS 'Model that wrote the draft.';
COMMENT ON COLUMN specnorm_item.prompt_hash IS 'Hash of the prompt''s wording.';
COMMENT ON COLUMN specnorm_item.decision IS 'accept: as drafted; revise: as the reviewer changed it.';
COMMENT ON COLUMN specnorm_item.reviewer IS 'Who decided.';
COMMENT ON COLUMN specnorm_item.reviewed_at IS 'When the decision was read (UTC).';

-- Names of countries in other languages.

CREATE TABLE country_name (
    country VARCHAR,
    language VARCHAR,
    name VARCHAR NOT NULL,
    PRIMARY KEY (country, language)
);
COMMENT ON TABLE country_name IS 'Name of a country in its own main language, for persona prompts in that language.';
COMMENT ON COLUMN country_name.country IS 'Country: country.country.';
COMMENT ON COLUMN country_name.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN country_name.name IS 'Name in that language, in its plain form.';

-- Results of `culturemeter judge validate`: agreement among people, and of judges with people.

CREATE TABLE judge_validation (
    judge VARCHAR,
    judge_hash VARCHAR,
    rubric VARCHAR,
    dimension VARCHAR,
    metric VARCHAR CHECK (metric IN (
        'krippendorff_alpha_nominal', 'krippendorff_alpha_ordinal', 'krippendorff_alpha_interval',
        'cohen_kappa', 'cohen_kappa_quadratic', 'pearson', 'spearman', 'pearson_graded', 'spearman_graded',
        'pearson_equal_length', 'spearman_equal_length', 'brier', 'expected_calibration_error'
    )),
    value DOUBLE,
    unscored_reason VARCHAR,
    ci_low DOUBLE,
    ci_high DOUBLE,
    n INTEGER NOT NULL CHECK (n >= 0),
    created_at TIMESTAMP NOT NULL,
    source VARCHAR NOT NULL,
    PRIMARY KEY (judge, judge_hash, rubric, dimension, metric),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL)),
    CHECK ((ci_low IS NULL) = (ci_high IS NULL))
);
COMMENT ON TABLE judge_validation IS 'Agreement of each judge with people who rated the same answers, a row per number. A judge without rows for its rubric was never compared with people.';
COMMENT ON COLUMN judge_validation.judge IS 'Model that judged: verdict.judge.';
COMMENT ON COLUMN judge_validation.judge_hash IS 'Hash of the judge''s engine: verdict.judge_hash.';
COMMENT ON COLUMN judge_validation.rubric IS 'Rubric that it judged by, with the hash of its content: verdict.rubric.';
COMMENT ON COLUMN judge_validation.dimension IS 'Dimension that was rated, such as coverage.';
COMMENT ON COLUMN judge_validation.metric IS 'krippendorff_alpha_*: agreement among people. cohen_kappa*: agreement of the judge''s verdict with people''s commonest verdict of the rubric. pearson, spearman: correlation of the judge''s verdict with people''s mean; with _graded, of its graded score; with _equal_length, of that score without the part that the length of the text explains. brier, expected_calibration_error: error of the graded score against the majority of people.';
COMMENT ON COLUMN judge_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN judge_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN judge_validation.ci_low IS 'Lower end of the 95 % interval, from leaving out one item at a time; NULL if there is none.';
COMMENT ON COLUMN judge_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN judge_validation.n IS 'Number of items from which the number is computed.';
COMMENT ON COLUMN judge_validation.created_at IS 'When the number was computed (UTC).';
COMMENT ON COLUMN judge_validation.source IS 'Name and SHA-256 of each file of ratings.';

-- Reference models of numbers that compare models.

CREATE TABLE cohort (
    config_hash VARCHAR,
    cohort VARCHAR,
    run_id VARCHAR,
    frozen_at TIMESTAMP NOT NULL,
    PRIMARY KEY (config_hash, cohort, run_id)
);
COMMENT ON TABLE cohort IS 'Runs over which numbers that compare models are computed (medians, pooled fits). They are frozen, so that no row changes because another model is run.';
COMMENT ON COLUMN cohort.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN cohort.cohort IS 'Name of the cohort; first: the models of the first finished run of the configuration.';
COMMENT ON COLUMN cohort.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN cohort.frozen_at IS 'When it was frozen (UTC).';

-- Languages of each country and the shares of their speakers.

CREATE TABLE country_language (
    country VARCHAR,
    language VARCHAR,
    status VARCHAR CHECK (status IN ('official', 'de_facto_official', 'official_regional')),
    percent DOUBLE NOT NULL CHECK (percent BETWEEN 0 AND 100),
    PRIMARY KEY (country, language)
);
COMMENT ON TABLE country_language IS 'Languages that are official in a country or in a part of it, or that at least 1 % of its people speak. The item list languages names the countries where a language is official or spoken by 10 %; if a language is national nowhere, also those where 1 % speak it.';
COMMENT ON COLUMN country_language.country IS 'Country: country.country.';
COMMENT ON COLUMN country_language.language IS 'Language: code of an item of the list languages, ISO 639.';
COMMENT ON COLUMN country_language.status IS 'official, de_facto_official, official_regional (in a part of the country); NULL: none.';
COMMENT ON COLUMN country_language.percent IS 'Share of people who speak the language, including second-language speakers, 0 to 100; rounded, from censuses of different years.';

-- Parts that larger ones have replaced.

CREATE TABLE superseded_part (
    kind VARCHAR,
    part VARCHAR,
    superseded_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, part)
);
COMMENT ON TABLE superseded_part IS 'Parts still on disk that no longer answer any unit, because a larger part has their rows or other parts replaced them. Programs that opened the database earlier may still read them; they are deleted after a day.';
COMMENT ON COLUMN superseded_part.kind IS 'Kind of part.';
COMMENT ON COLUMN superseded_part.part IS 'Name of the part.';
COMMENT ON COLUMN superseded_part.superseded_at IS 'When it was marked as superseded (UTC).';

-- Content of culturall.

CREATE TABLE culturall_item (
    item VARCHAR PRIMARY KEY,
    language VARCHAR NOT NULL,
    region VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    form VARCHAR NOT NULL CHECK (form IN ('free', 'choice')),
    scenario VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    answer VARCHAR NOT NULL CHECK (form = 'free' OR answer IN ('A', 'B', 'C', 'D')),
    variants VARCHAR,
    explanation VARCHAR NOT NULL,
    scenario_en VARCHAR NOT NULL,
    question_en VARCHAR NOT NULL,
    answer_en VARCHAR NOT NULL,
    variants_en VARCHAR,
    explanation_en VARCHAR NOT NULL,
    fact VARCHAR NOT NULL,
    look_up VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    status VARCHAR NOT NULL
);
COMMENT ON TABLE culturall_item IS 'Shipped grounded tasks: an everyday scenario, a question that arises from it, a short objective answer. After Lin et al. (2026), written for this project.';
COMMENT ON COLUMN culturall_item.item IS 'Identifier: language-region-topic-number.';
COMMENT ON COLUMN culturall_item.language IS 'Language of the texts, ISO 639-1.';
COMMENT ON COLUMN culturall_item.region IS 'Region whose custom, law or usage the item is about, ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_item.topic IS 'One of 16 topics.';
COMMENT ON COLUMN culturall_item.form IS 'free: a few words. choice: one of the options A to D in the question.';
COMMENT ON COLUMN culturall_item.scenario IS 'Situation that the question is about, and needed to answer it.';
COMMENT ON COLUMN culturall_item.question IS 'Question to the model.';
COMMENT ON COLUMN culturall_item.answer IS 'The gold answer.';
COMMENT ON COLUMN culturall_item.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_item.explanation IS 'Explanation of the gold answer.';
COMMENT ON COLUMN culturall_item.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_item.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_item.answer_en IS 'The gold answer in English.';
COMMENT ON COLUMN culturall_item.variants_en IS 'Further answers in English that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_item.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_item.fact IS 'Rule behind the item, in English.';
COMMENT ON COLUMN culturall_item.look_up IS 'Place where the fact can be looked up.';
COMMENT ON COLUMN culturall_item.source IS 'Source of the item.';
COMMENT ON COLUMN culturall_item.status IS 'Checks of the item: by whom, or not checked by people.';

-- The build of culturall in its stages: topics, drafts, difficulty, labels, checks, reviews and published
-- versions. Checks and decisions are replaced; all other rows stay as they were stored.

CREATE TABLE culturall_region (
    region VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL
);
COMMENT ON TABLE culturall_region IS 'Codes that the region of an item may have: ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_region.region IS 'Two upper-case letters.';
COMMENT ON COLUMN culturall_region.name IS 'Name in English.';

CREATE TABLE culturall_topic (
    entry VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL CHECK (kind IN ('topic', 'example', 'merge')),
    topic VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    parents VARCHAR[] NOT NULL,
    source VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    author_kind VARCHAR NOT NULL CHECK (author_kind IN ('person', 'model')),
    prompt_hash VARCHAR,
    request_hash VARCHAR,
    response_item VARCHAR,
    run_id VARCHAR,
    made_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE culturall_topic IS 'Stage 1: topics with descriptions and seed examples, and a model''s proposals to merge or add topics.';
COMMENT ON COLUMN culturall_topic.entry IS 'Identifier: hash of kind, topic and text.';
COMMENT ON COLUMN culturall_topic.kind IS 'topic: in the list. example: a possible subject of an item. merge: a proposal for people, not applied.';
COMMENT ON COLUMN culturall_topic.topic IS 'Name of the topic; for a merge, the new name.';
COMMENT ON COLUMN culturall_topic.text IS 'Description of the topic, or the example.';
COMMENT ON COLUMN culturall_topic.parents IS 'Topics that a merge joins; empty for other kinds.';
COMMENT ON COLUMN culturall_topic.source IS 'File of the topic, or "model".';
COMMENT ON COLUMN culturall_topic.author IS 'Model, or person who made the file.';
COMMENT ON COLUMN culturall_topic.author_kind IS 'person or model.';
COMMENT ON COLUMN culturall_topic.prompt_hash IS 'Hash of the prompt''s wording; NULL for what people wrote, like the next three.';
COMMENT ON COLUMN culturall_topic.request_hash IS 'Hash of engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_topic.response_item IS 'Item of the stored answer; with request_hash it identifies the answer.';
COMMENT ON COLUMN culturall_topic.run_id IS 'Run that sent the prompt: run.run_id.';
COMMENT ON COLUMN culturall_topic.made_at IS 'When it was stored (UTC).';

CREATE TABLE culturall_draft (
    draft VARCHAR PRIMARY KEY,
    origin VARCHAR NOT NULL
        CHECK (origin IN ('dataset', 'page', 'person', 'inspiration', 'elevation', 'revision')),
    parent VARCHAR,
    partner VARCHAR,
    technique VARCHAR CHECK (technique IN ('long_tail', 'more_context', 'less_context', 'composition')),
    source VARCHAR NOT NULL,
    source_hash VARCHAR NOT NULL,
    source_text VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    region VARCHAR,
    topic VARCHAR,
    form VARCHAR CHECK (form IN ('free', 'choice')),
    scenario VARCHAR,
    question VARCHAR,
    answer VARCHAR,
    variants VARCHAR,
    explanation VARCHAR,
    scenario_en VARCHAR,
    question_en VARCHAR,
    answer_en VARCHAR,
    explanation_en VARCHAR,
    author VARCHAR NOT NULL,
    author_kind VARCHAR NOT NULL CHECK (author_kind IN ('person', 'model')),
    prompt_hash VARCHAR,
    request_hash VARCHAR,
    response_item VARCHAR,
    run_id VARCHAR,
    made_at TIMESTAMP NOT NULL,
    faults VARCHAR[] NOT NULL,
    fault_details VARCHAR[] NOT NULL,
    CHECK (len(faults) = len(fault_details)),
    CHECK (len(faults) > 0 OR (scenario IS NOT NULL AND question IS NOT NULL AND answer IS NOT NULL)),
    CHECK ((origin IN ('elevation', 'revision')) = (parent IS NOT NULL)),
    CHECK ((origin = 'elevation') = (technique IS NOT NULL)),
    CHECK ((author_kind = 'model') = (request_hash IS NOT NULL))
);
COMMENT ON TABLE culturall_draft IS 'Stages 2 and 3: every item that a model or a person drafted, rewrote, made harder or revised.';
COMMENT ON COLUMN culturall_draft.draft IS 'Identifier: hash of request_hash and response_item, or of texts and author.';
COMMENT ON COLUMN culturall_draft.origin IS 'dataset: rewritten from another benchmark. page: from an excerpt. person: from a person''s experience. inspiration: modelled on an item in another language. elevation: a harder version of its parent. revision: a reviewer''s version of its parent.';
COMMENT ON COLUMN culturall_draft.parent IS 'Draft that it replaces once people accept it: culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft.partner IS 'Draft that a composition combines with its parent, or draft that inspired this one: culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft.technique IS 'Technique by which an elevation makes its parent harder: long_tail, more_context, less_context, composition.';
COMMENT ON COLUMN culturall_draft.source IS 'File and row, document and passage, or "person".';
COMMENT ON COLUMN culturall_draft.source_hash IS 'Hash of the source''s text: a source with a usable draft is not drafted again.';
COMMENT ON COLUMN culturall_draft.source_text IS 'Text that the draft was made from; empty where a person wrote it.';
COMMENT ON COLUMN culturall_draft.language IS 'Declared language, ISO 639-1.';
COMMENT ON COLUMN culturall_draft.region IS 'Declared region, ISO 3166-1 alpha-2; NULL: to be labelled.';
COMMENT ON COLUMN culturall_draft.topic IS 'Declared topic, one of 16; NULL: to be labelled.';
COMMENT ON COLUMN culturall_draft.form IS 'free, or choice: options A to D are in the question. NULL if the answer could not be read, like the texts.';
COMMENT ON COLUMN culturall_draft.scenario IS 'Situation that the question is about.';
COMMENT ON COLUMN culturall_draft.question IS 'Question to the model.';
COMMENT ON COLUMN culturall_draft.answer IS 'Gold answer; for a choice, its letter.';
COMMENT ON COLUMN culturall_draft.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_draft.explanation IS 'Explanation of the gold answer.';
COMMENT ON COLUMN culturall_draft.scenario_en IS 'The scenario in English, if its author gave it; NULL: see culturall_label.';
COMMENT ON COLUMN culturall_draft.question_en IS 'The question in English, if its author gave it.';
COMMENT ON COLUMN culturall_draft.answer_en IS 'The answer in English, if its author gave it.';
COMMENT ON COLUMN culturall_draft.explanation_en IS 'The explanation in English, if its author gave it.';
COMMENT ON COLUMN culturall_draft.author IS 'Model or person.';
COMMENT ON COLUMN culturall_draft.author_kind IS 'person or model.';
COMMENT ON COLUMN culturall_draft.prompt_hash IS 'Hash of the prompt''s wording; NULL for what people wrote, like the next three.';
COMMENT ON COLUMN culturall_draft.request_hash IS 'Hash of engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_draft.response_item IS 'Item of the stored answer; with request_hash it identifies the answer.';
COMMENT ON COLUMN culturall_draft.run_id IS 'Run that sent the prompt: run.run_id.';
COMMENT ON COLUMN culturall_draft.made_at IS 'When it was stored (UTC).';
COMMENT ON COLUMN culturall_draft.faults IS 'Names of the reasons why the draft is not used; empty if there are none.';
COMMENT ON COLUMN culturall_draft.fault_details IS 'Details of the faults, one text for each fault.';

CREATE TABLE culturall_measure (
    draft VARCHAR,
    engine_hash VARCHAR,
    judges VARCHAR,
    model VARCHAR NOT NULL,
    text VARCHAR,
    unscored_reason VARCHAR,
    matched BOOLEAN,
    judged BOOLEAN,
    is_right BOOLEAN,
    request_hash VARCHAR NOT NULL,
    response_item VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    measured_at TIMESTAMP NOT NULL,
    PRIMARY KEY (draft, engine_hash, judges),
    CHECK ((is_right IS NULL) = (unscored_reason IS NOT NULL))
);
COMMENT ON TABLE culturall_measure IS 'Stage 3: results of models on drafts.';
COMMENT ON COLUMN culturall_measure.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_measure.engine_hash IS 'Engine that answered.';
COMMENT ON COLUMN culturall_measure.judges IS 'Engine hashes of the judges, separated by |; empty: the answer was matched only.';
COMMENT ON COLUMN culturall_measure.model IS 'Name of the model that answered.';
COMMENT ON COLUMN culturall_measure.text IS 'The answer; NULL if there is none.';
COMMENT ON COLUMN culturall_measure.unscored_reason IS 'Why is_right is NULL.';
COMMENT ON COLUMN culturall_measure.matched IS 'Whether the answer equals the gold answer.';
COMMENT ON COLUMN culturall_measure.judged IS 'Whether the judges accept the answer as right; NULL without a verdict.';
COMMENT ON COLUMN culturall_measure.is_right IS 'Value of judged, or of matched if there is no judge; NULL if the answer could not be scored.';
COMMENT ON COLUMN culturall_measure.request_hash IS 'Hash of engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_measure.response_item IS 'Conversation: response.item.';
COMMENT ON COLUMN culturall_measure.run_id IS 'Run that sent the prompt: run.run_id.';
COMMENT ON COLUMN culturall_measure.measured_at IS 'When it was stored (UTC).';

CREATE TABLE culturall_label (
    draft VARCHAR PRIMARY KEY,
    region VARCHAR,
    topic VARCHAR,
    content VARCHAR,
    scenario_en VARCHAR,
    question_en VARCHAR,
    answer_en VARCHAR,
    explanation_en VARCHAR,
    scenario_back VARCHAR,
    question_back VARCHAR,
    answer_back VARCHAR,
    author VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    request_hash VARCHAR NOT NULL,
    response_items VARCHAR[] NOT NULL,
    run_id VARCHAR NOT NULL,
    labelled_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE culturall_label IS 'Stage 4: a model''s labels of a draft (region, topic, content), and its translation into English and back.';
COMMENT ON COLUMN culturall_label.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_label.region IS 'Code as the model wrote it; NULL, like all texts of this row, if the answer could not be read.';
COMMENT ON COLUMN culturall_label.topic IS 'Topic, one of 16.';
COMMENT ON COLUMN culturall_label.content IS 'none, personal, harmful or offensive.';
COMMENT ON COLUMN culturall_label.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_label.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_label.answer_en IS 'The answer in English.';
COMMENT ON COLUMN culturall_label.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_label.scenario_back IS 'The English scenario translated back.';
COMMENT ON COLUMN culturall_label.question_back IS 'The English question translated back.';
COMMENT ON COLUMN culturall_label.answer_back IS 'The English answer translated back.';
COMMENT ON COLUMN culturall_label.author IS 'Model that labelled the draft.';
COMMENT ON COLUMN culturall_label.prompt_hash IS 'Hash of the prompts'' wording.';
COMMENT ON COLUMN culturall_label.request_hash IS 'Hash of engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_label.response_items IS 'Conversations: response.item, of label, translation and back-translation.';
COMMENT ON COLUMN culturall_label.run_id IS 'Run that sent the prompts: run.run_id.';
COMMENT ON COLUMN culturall_label.labelled_at IS 'When it was stored (UTC).';

CREATE TABLE culturall_check (
    draft VARCHAR,
    reason VARCHAR,
    is_doubt BOOLEAN NOT NULL,
    detail VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (draft, reason)
);
COMMENT ON TABLE culturall_check IS 'Stage 4: results of the last release''s checks for each draft; a row with reason "" marks a checked draft.';
COMMENT ON COLUMN culturall_check.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_check.reason IS 'Name of the fault or doubt; "" for every draft that was checked.';
COMMENT ON COLUMN culturall_check.is_doubt IS 'Whether people decide about it; a fault that is not a doubt keeps the draft out.';
COMMENT ON COLUMN culturall_check.detail IS 'Fault that the check saw.';
COMMENT ON COLUMN culturall_check.checked_at IS 'When (UTC).';

CREATE TABLE culturall_review (
    draft VARCHAR,
    stage VARCHAR CHECK (stage IN ('elevate', 'release')),
    decision VARCHAR NOT NULL CHECK (decision IN ('accept', 'revise', 'reject')),
    reviewer VARCHAR NOT NULL,
    note VARCHAR,
    reviewed_at TIMESTAMP NOT NULL,
    PRIMARY KEY (draft, stage)
);
COMMENT ON TABLE culturall_review IS 'Decisions of people on drafts. A revised text is a draft of its own, with this one as parent.';
COMMENT ON COLUMN culturall_review.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_review.stage IS 'elevate: decision whether a harder version replaces its parent. release: decision whether the draft is published.';
COMMENT ON COLUMN culturall_review.decision IS 'accept, revise or reject.';
COMMENT ON COLUMN culturall_review.reviewer IS 'Person who decided, other than the author.';
COMMENT ON COLUMN culturall_review.note IS 'Reason in the reviewer''s words; NULL if there is none.';
COMMENT ON COLUMN culturall_review.reviewed_at IS 'When the decision was read (UTC).';

CREATE TABLE culturall_release (
    version VARCHAR PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    n_items INTEGER NOT NULL,
    counts JSON NOT NULL,
    card VARCHAR NOT NULL,
    params JSON NOT NULL,
    released_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE culturall_release IS 'Published versions of a build.';
COMMENT ON COLUMN culturall_release.version IS 'Hash of the items, in any order.';
COMMENT ON COLUMN culturall_release.number IS 'Number of the version, from 1.';
COMMENT ON COLUMN culturall_release.n_items IS 'Number of items.';
COMMENT ON COLUMN culturall_release.counts IS 'Items by language, region, topic, form, origin and difficulty; decisions and what was left out.';
COMMENT ON COLUMN culturall_release.card IS 'Dataset card (Markdown).';
COMMENT ON COLUMN culturall_release.params IS 'Parameters of the release.';
COMMENT ON COLUMN culturall_release.released_at IS 'When it was first released (UTC).';

CREATE TABLE culturall_release_item (
    version VARCHAR,
    item VARCHAR,
    draft VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    region VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    form VARCHAR NOT NULL CHECK (form IN ('free', 'choice')),
    scenario VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    answer VARCHAR NOT NULL,
    variants VARCHAR,
    explanation VARCHAR NOT NULL,
    scenario_en VARCHAR NOT NULL,
    question_en VARCHAR NOT NULL,
    answer_en VARCHAR NOT NULL,
    explanation_en VARCHAR NOT NULL,
    difficulty VARCHAR CHECK (difficulty IN ('easy', 'medium', 'hard')),
    n_right INTEGER,
    n_models INTEGER,
    origin VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    decision VARCHAR NOT NULL CHECK (decision IN ('accept', 'revise')),
    reviewer VARCHAR NOT NULL,
    PRIMARY KEY (version, item)
);
COMMENT ON TABLE culturall_release_item IS 'Items of each published version, as they were published.';
COMMENT ON COLUMN culturall_release_item.version IS 'culturall_release.version.';
COMMENT ON COLUMN culturall_release_item.item IS 'Identifier: language and hash of the texts.';
COMMENT ON COLUMN culturall_release_item.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_release_item.language IS 'ISO 639-1.';
COMMENT ON COLUMN culturall_release_item.region IS 'ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_release_item.topic IS 'Topic, one of 16.';
COMMENT ON COLUMN culturall_release_item.form IS 'free or choice.';
COMMENT ON COLUMN culturall_release_item.scenario IS 'Situation that the question is about.';
COMMENT ON COLUMN culturall_release_item.question IS 'Question to the model.';
COMMENT ON COLUMN culturall_release_item.answer IS 'The gold answer.';
COMMENT ON COLUMN culturall_release_item.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_release_item.explanation IS 'Explanation of the gold answer.';
COMMENT ON COLUMN culturall_release_item.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_release_item.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_release_item.answer_en IS 'The answer in English.';
COMMENT ON COLUMN culturall_release_item.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_release_item.difficulty IS 'Level by the share of models that solve the item; NULL if fewer than three models answered it.';
COMMENT ON COLUMN culturall_release_item.n_right IS 'Number of models that solve the item; NULL if no model answered it.';
COMMENT ON COLUMN culturall_release_item.n_models IS 'Number of models that answered the item; NULL if none did.';
COMMENT ON COLUMN culturall_release_item.origin IS 'culturall_draft.origin; for a revision, that of the revised draft.';
COMMENT ON COLUMN culturall_release_item.source IS 'culturall_draft.source; for a revision, that of the revised draft.';
COMMENT ON COLUMN culturall_release_item.author IS 'Model or person who wrote the draft; for a revision, the revised draft.';
COMMENT ON COLUMN culturall_release_item.decision IS 'accept: as drafted; revise: as the reviewer changed it.';
COMMENT ON COLUMN culturall_release_item.reviewer IS 'Who decided.';

-- Content of explication: the personas that users are simulated with.

CREATE TABLE explication_persona (
    persona VARCHAR PRIMARY KEY,
    name VARCHAR NOT NULL,
    country VARCHAR NOT NULL,
    cuisine VARCHAR NOT NULL,
    profile JSON NOT NULL
);
COMMENT ON TABLE explication_persona IS 'Invented people whom a simulator plays in conversations with recommenders.';
COMMENT ON COLUMN explication_persona.persona IS 'Identifier.';
COMMENT ON COLUMN explication_persona.name IS 'Given name.';
COMMENT ON COLUMN explication_persona.country IS 'Country of the persona: country.country.';
COMMENT ON COLUMN explication_persona.cuisine IS 'Cuisine that the person grew up with.';
COMMENT ON COLUMN explication_persona.profile IS 'Whole persona: habits, limits, facts with the phrases that show them in a text, constraints on a recommendation.';

-- Studies with people. Answers are only added; a revision stands beside the earlier answer. Of people who withdraw,
-- the number is kept and no answer.

CREATE TABLE study (
    study VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    study_hash VARCHAR NOT NULL,
    languages VARCHAR[] NOT NULL,
    annotators_per_item INTEGER NOT NULL CHECK (annotators_per_item > 0),
    n_assigned INTEGER NOT NULL CHECK (n_assigned >= 0),
    n_withdrawn INTEGER NOT NULL CHECK (n_withdrawn >= 0),
    pulled_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE study IS 'Studies with people whose answers were pulled (culturemeter people pull).';
COMMENT ON COLUMN study.study IS 'Name of the study.';
COMMENT ON COLUMN study.kind IS 'Kind of study, such as spectral-ranking, which decides how its answers are used.';
COMMENT ON COLUMN study.title IS 'Title in its first language.';
COMMENT ON COLUMN study.study_hash IS 'Hash of pages, fields and texts at the last pull.';
COMMENT ON COLUMN study.languages IS 'Languages in which people answer.';
COMMENT ON COLUMN study.annotators_per_item IS 'Number of people planned for each item.';
COMMENT ON COLUMN study.n_assigned IS 'Number of pages that were assigned to people.';
COMMENT ON COLUMN study.n_withdrawn IS 'Number of people who withdrew; none of their answers is stored.';
COMMENT ON COLUMN study.pulled_at IS 'When answers were last pulled (UTC).';

CREATE TABLE study_item (
    study VARCHAR,
    item VARCHAR,
    item_hash VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    language VARCHAR NOT NULL,
    stratum VARCHAR NOT NULL,
    model VARCHAR,
    condition VARCHAR,
    author VARCHAR,
    code VARCHAR,
    is_check BOOLEAN NOT NULL,
    chance DOUBLE,
    population VARCHAR,
    PRIMARY KEY (study, item)
);
COMMENT ON TABLE study_item IS 'Items that people judge, with fields that are hidden from them.';
COMMENT ON COLUMN study_item.study IS 'Study: study.study.';
COMMENT ON COLUMN study_item.item IS 'Name of the item, which does not reveal its source.';
COMMENT ON COLUMN study_item.item_hash IS 'Hash of the words that people see.';
COMMENT ON COLUMN study_item.page IS 'Form that shows the item.';
COMMENT ON COLUMN study_item.language IS 'Language of the item.';
COMMENT ON COLUMN study_item.stratum IS 'Group over which items were drawn evenly; empty if there are no groups.';
COMMENT ON COLUMN study_item.model IS 'Model that wrote the item; NULL if none did.';
COMMENT ON COLUMN study_item.condition IS 'Condition under which the item was generated; NULL if there is none.';
COMMENT ON COLUMN study_item.author IS 'Person who wrote the item, by code; NULL if none did.';
COMMENT ON COLUMN study_item.code IS 'Identifier outside the study: an answer''s code, a dish''s url, a draft.';
COMMENT ON COLUMN study_item.is_check IS 'Whether the item is an attention check.';
COMMENT ON COLUMN study_item.chance IS 'Chance with which the item was drawn from its stratum, above 0 and at most 1; NULL if it was not drawn at random.';
COMMENT ON COLUMN study_item.population IS 'Hash of all answers of the stratum that the item was drawn from; NULL if it was not drawn at random.';

CREATE TABLE human_answer (
    study VARCHAR,
    study_hash VARCHAR NOT NULL,
    item VARCHAR,
    item_hash VARCHAR NOT NULL,
    annotator VARCHAR,
    field VARCHAR,
    entry VARCHAR,
    value VARCHAR NOT NULL,
    place INTEGER,
    started_at TIMESTAMP NOT NULL,
    saved_at TIMESTAMP NOT NULL,
    revision INTEGER CHECK (revision > 0),
    status VARCHAR NOT NULL CHECK (status IN ('draft', 'complete')),
    tool VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    PRIMARY KEY (study, annotator, item, field, revision, entry)
);
COMMENT ON TABLE human_answer IS 'Saved revisions of all answers; a ranking or a field of marks has one row per entry. Rows are only added. The exception: rows of people who withdraw, or for whom the study has no place, are deleted.';
COMMENT ON COLUMN human_answer.study IS 'Study: study.study.';
COMMENT ON COLUMN human_answer.study_hash IS 'Hash of pages, fields and texts when the answer was saved.';
COMMENT ON COLUMN human_answer.item IS 'Item: study_item.item; for a page that each person has once, the name of the page.';
COMMENT ON COLUMN human_answer.item_hash IS 'Hash of the words that the person saw.';
COMMENT ON COLUMN human_answer.annotator IS 'Person, by a code.';
COMMENT ON COLUMN human_answer.field IS 'Field of the form that this answers.';
COMMENT ON COLUMN human_answer.entry IS 'Entry that was ranked or marked; empty for other fields.';
COMMENT ON COLUMN human_answer.value IS 'Rank from 1, option, number or text; empty if nothing was entered.';
COMMENT ON COLUMN human_answer.place IS 'Position of the entry, or of the chosen option, on the page, from 1; NULL if it was not listed.';
COMMENT ON COLUMN human_answer.started_at IS 'When the person first opened the page (UTC).';
COMMENT ON COLUMN human_answer.saved_at IS 'When the answer was saved (UTC).';
COMMENT ON COLUMN human_answer.revision IS 'Number of the revision of this field, from 1.';
COMMENT ON COLUMN human_answer.status IS 'draft: the answer is incomplete.';
COMMENT ON COLUMN human_answer.tool IS 'Program that collected the answer.';
COMMENT ON COLUMN human_answer.version IS 'Version of the program that collected the answer.';

CREATE TABLE human_exclusion (
    study VARCHAR,
    annotator VARCHAR,
    reason VARCHAR,
    PRIMARY KEY (study, annotator, reason)
);
COMMENT ON TABLE human_exclusion IS 'People whose answers do not count, with the reason, determined after each pull.';
COMMENT ON COLUMN human_exclusion.study IS 'Study: study.study.';
COMMENT ON COLUMN human_exclusion.annotator IS 'Person: human_answer.annotator.';
COMMENT ON COLUMN human_exclusion.reason IS 'Reason: failed an attention check, contradicted their own ranking, was too fast, did not finish, or exceeded a quota.';

CREATE TABLE human_domain (
    study VARCHAR,
    snapshot VARCHAR,
    domain VARCHAR,
    human_score DOUBLE NOT NULL,
    human_sd DOUBLE,
    n_people INTEGER NOT NULL,
    share_high DOUBLE,
    human_category VARCHAR CHECK (human_category IN ('LH', 'HL', 'HH', 'LL')),
    pulled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, snapshot, domain)
);
COMMENT ON TABLE human_domain IS 'Expectations of people on each domain, after each pull of a ranking study that changed them. They are the ground truth of culturemeter run spectral --human STUDY.';
COMMENT ON COLUMN human_domain.study IS 'Study: study.study.';
COMMENT ON COLUMN human_domain.snapshot IS 'Hash of the scores and categories. A run names its snapshot (params.human), so that later answers do not change its numbers.';
COMMENT ON COLUMN human_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN human_domain.human_score IS 'Mean rank, from 1; low means common across countries.';
COMMENT ON COLUMN human_domain.human_sd IS 'Standard deviation of the ranks; NULL for one person.';
COMMENT ON COLUMN human_domain.n_people IS 'Number of people who ranked the domain.';
COMMENT ON COLUMN human_domain.share_high IS 'Share of people who expect many patterns of answers over countries, among those who annotated the domain''s pluralism; NULL if nobody did.';
COMMENT ON COLUMN human_domain.human_category IS 'Expected category. Effective rank: High if a majority expects many patterns. Spectral gap ratio: High if the score is below the median. NULL if nobody annotated the pluralism, people are tied, or they were asked about only one country.';
COMMENT ON COLUMN human_domain.pulled_at IS 'When a pull last produced these values (UTC).';

CREATE TABLE human_ceiling (
    study VARCHAR,
    evaluation VARCHAR NOT NULL,
    config_hash VARCHAR NOT NULL,
    metric VARCHAR,
    slice_kind VARCHAR,
    slice VARCHAR,
    value DOUBLE NOT NULL,
    ci_low DOUBLE,
    ci_high DOUBLE,
    no_interval_reason VARCHAR,
    n_people INTEGER NOT NULL,
    n_items INTEGER NOT NULL,
    n_clusters INTEGER NOT NULL,
    n_answers INTEGER NOT NULL,
    answers VARCHAR NOT NULL,
    computed_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, metric, slice_kind, slice)
);
COMMENT ON TABLE human_ceiling IS 'People''s own answers to an evaluation''s prompts, scored as a model''s: mean over items and people of each headline. People are no model: they are in no run, ranking or cohort. A pull that brings other answers removes a study''s rows until culturemeter people score STUDY.';
COMMENT ON COLUMN human_ceiling.study IS 'Study: study.study, of kind item-answers.';
COMMENT ON COLUMN human_ceiling.evaluation IS 'Evaluation: run.evaluation.';
COMMENT ON COLUMN human_ceiling.config_hash IS 'Configuration whose prompts, judges and scoring were used: run.config_hash.';
COMMENT ON COLUMN human_ceiling.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN human_ceiling.slice_kind IS 'Kind of slice, as in metric_value; overall for all items.';
COMMENT ON COLUMN human_ceiling.slice IS 'Slice, as in metric_value.';
COMMENT ON COLUMN human_ceiling.value IS 'Mean over items of the mean over the people who answered them.';
COMMENT ON COLUMN human_ceiling.ci_low IS 'Lower end of the 95 % interval over people and clusters of items; NULL without one.';
COMMENT ON COLUMN human_ceiling.ci_high IS 'Upper end of the 95 % interval; NULL without one.';
COMMENT ON COLUMN human_ceiling.no_interval_reason IS 'Why there is no interval; NULL if there is one.';
COMMENT ON COLUMN human_ceiling.n_people IS 'Number of people.';
COMMENT ON COLUMN human_ceiling.n_items IS 'Number of items that they answered.';
COMMENT ON COLUMN human_ceiling.n_clusters IS 'Number of clusters of these items.';
COMMENT ON COLUMN human_ceiling.n_answers IS 'Number of scored answers.';
COMMENT ON COLUMN human_ceiling.answers IS 'Hash of the answers.';
COMMENT ON COLUMN human_ceiling.computed_at IS 'When it was computed (UTC).';

-- Agreement of judges of conversations with people who rated the same conversations.

CREATE TABLE conversation_validation (
    study VARCHAR,
    config_hash VARCHAR,
    dimension VARCHAR CHECK (dimension IN ('persona', 'apr', 'interaction')),
    metric VARCHAR CHECK (metric IN (
        'mean', 'order_effect', 'krippendorff_alpha_ordinal', 'opposite', 'tied', 'misaligned', 'cohen_kappa', 'spearman_models'
    )),
    value DOUBLE,
    unscored_reason VARCHAR,
    ci_low DOUBLE,
    ci_high DOUBLE,
    null_value DOUBLE,
    n INTEGER NOT NULL CHECK (n >= 0),
    n_unscored INTEGER NOT NULL CHECK (n_unscored >= 0),
    pulled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, dimension, metric),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL)),
    CHECK ((ci_low IS NULL) = (ci_high IS NULL))
);
COMMENT ON TABLE conversation_validation IS 'Ratings of explication''s conversations by people, and the agreement of the judges'' order with them, as of the last pull of each study.';
COMMENT ON COLUMN conversation_validation.study IS 'Study: study.study.';
COMMENT ON COLUMN conversation_validation.config_hash IS 'Configuration of the runs whose conversations were rated: run.config_hash.';
COMMENT ON COLUMN conversation_validation.dimension IS 'persona: how well the simulated user plays the persona. apr: how well the recommendation suits the persona. interaction: how well the model asked the user.';
COMMENT ON COLUMN conversation_validation.metric IS 'mean: mean of people''s ratings, 1 to 5. order_effect: mean rating of conversations shown first on a page minus that of the same conversations shown second. krippendorff_alpha_ordinal: agreement among people. opposite: share of pairs that the judges order the other way round, among the pairs that one person rated and that both sides order. tied: share of all pairs in which one side sees no difference. misaligned: share of opposite pairs among all, as the paper counts. cohen_kappa: agreement on the order of pairs. spearman_models: rank correlation of the models'' means.';
COMMENT ON COLUMN conversation_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN conversation_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN conversation_validation.ci_low IS 'Lower end of the 95 % interval, over personas; NULL if there is none.';
COMMENT ON COLUMN conversation_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN conversation_validation.null_value IS 'Value of judges that know nothing; NULL for numbers without judges.';
COMMENT ON COLUMN conversation_validation.n IS 'Number of ratings, of conversations with two raters, of pairs, or of models.';
COMMENT ON COLUMN conversation_validation.n_unscored IS 'Number of ratings that could not be used: their conversations have no judge''s grade.';
COMMENT ON COLUMN conversation_validation.pulled_at IS 'When the study was last pulled (UTC).';

-- Published numbers as rows, and their counterparts among the metrics here.

CREATE TABLE published_result (
    paper VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    model VARCHAR,
    condition VARCHAR,
    metric VARCHAR NOT NULL,
    printed VARCHAR NOT NULL,
    value DOUBLE,
    unit VARCHAR NOT NULL,
    page INTEGER,
    note VARCHAR
);
COMMENT ON TABLE published_result IS 'Cells with a number, from every table of the five papers, as printed. All cells were entered twice, independently, and the two entries agree; the cells of culturall come from one file (note). No person has checked them.';
COMMENT ON COLUMN published_result.paper IS 'Paper, by the evaluation that comes from it: spectral, fmlama, cure, worldwise, culturall.';
COMMENT ON COLUMN published_result.table_name IS 'Table, as the paper names it; for WorldWise, section and heading.';
COMMENT ON COLUMN published_result.model IS 'Model, as printed; NULL if the number belongs to no model, or to all together.';
COMMENT ON COLUMN published_result.condition IS 'Row and column beyond model and metric: name=text, separated by semicolons; NULL if there is none.';
COMMENT ON COLUMN published_result.metric IS 'Metric, as printed; with "sd" after it, the number behind the plus-minus sign.';
COMMENT ON COLUMN published_result.printed IS 'The number as printed.';
COMMENT ON COLUMN published_result.value IS 'Printed value as a number, in the paper''s unit; NULL if it is not a number, such as ">3700".';
COMMENT ON COLUMN published_result.unit IS 'Unit, as printed or as the text states it.';
COMMENT ON COLUMN published_result.page IS 'Page; NULL where the source has no pages.';
COMMENT ON COLUMN published_result.note IS 'Doubt about the cell, or its source if that is not the paper; NULL for most.';

CREATE TABLE published_metric (
    paper VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    published VARCHAR NOT NULL,
    condition VARCHAR,
    evaluation VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    slice_kind VARCHAR NOT NULL,
    slice VARCHAR NOT NULL,
    factor DOUBLE NOT NULL,
    is_detail BOOLEAN NOT NULL,
    definition VARCHAR NOT NULL CHECK (definition IN ('equal', 'near')),
    difference VARCHAR,
    setting VARCHAR
);
COMMENT ON TABLE published_metric IS 'Published metrics whose definition equals or nearly equals that of a metric here. Equal definitions do not make equal numbers: items, prompts and models differ.';
COMMENT ON COLUMN published_metric.paper IS 'Paper: published_result.paper.';
COMMENT ON COLUMN published_metric.table_name IS 'Table: published_result.table_name.';
COMMENT ON COLUMN published_metric.published IS 'The paper''s metric: published_result.metric.';
COMMENT ON COLUMN published_metric.condition IS 'Regular expression that matches the whole condition; NULL if there is no condition.';
COMMENT ON COLUMN published_metric.evaluation IS 'Evaluation of ours.';
COMMENT ON COLUMN published_metric.metric IS 'Metric here: metric.metric.';
COMMENT ON COLUMN published_metric.slice_kind IS 'Kind of slice here: metric_value.slice_kind.';
COMMENT ON COLUMN published_metric.slice IS 'Slice here: metric_value.slice; \1 stands for the group of the regular expression in condition.';
COMMENT ON COLUMN published_metric.factor IS 'Factor that converts the paper''s unit to the unit used here.';
COMMENT ON COLUMN published_metric.is_detail IS 'Whether pages and tables hide the number at first.';
COMMENT ON COLUMN published_metric.definition IS 'equal: the same formula as here; near: nearly the same. Whether a run also has the paper''s setting is computed from the evaluation''s settings.toml.';
COMMENT ON COLUMN published_metric.difference IS 'Difference between the paper''s formula and the one here; empty if there is none.';
COMMENT ON COLUMN published_metric.setting IS 'Parameter and value, such as pooling=mean_probability, with which the definition is equal; with another value it is near.';

-- Rankings of models by other benchmarks: those that a paper quotes, and those that users import.

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
COMMENT ON COLUMN external_rank.known_as IS 'Ids under which this model may have been run here, separated by |, since the table does not print the checkpoint. NULL if no id is known.';
COMMENT ON COLUMN external_rank.source IS 'Authors of the benchmark.';
COMMENT ON COLUMN external_rank.topics IS 'Topics of its questions, as printed.';
COMMENT ON COLUMN external_rank.note IS 'Further remarks of the table; NULL for most.';

CREATE TABLE user_rank (
    benchmark VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    place INTEGER NOT NULL CHECK (place > 0),
    source VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL,
    PRIMARY KEY (benchmark, model)
);
COMMENT ON TABLE user_rank IS 'Rankings that users imported: culturemeter ranking FILE.';
COMMENT ON COLUMN user_rank.benchmark IS 'Benchmark.';
COMMENT ON COLUMN user_rank.model IS 'Model, as leaderboards show it, or its id.';
COMMENT ON COLUMN user_rank.place IS 'Place, from 1: the best; equal models share a place.';
COMMENT ON COLUMN user_rank.source IS 'File that it was read from.';
COMMENT ON COLUMN user_rank.added_at IS 'When it was read (UTC).';

-- Content of users' packs as it was when a run used it; an edited pack has another hash.

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
COMMENT ON TABLE pack IS 'Content of users'' packs that runs have used: one row per evaluation and edition of a pack.';
COMMENT ON COLUMN pack.pack_hash IS 'Hash of the rows, independent of the pack''s name and folder.';
COMMENT ON COLUMN pack.pack IS 'Name of the pack when this content was first used.';
COMMENT ON COLUMN pack.evaluation IS 'Evaluation to which the pack adds content.';
COMMENT ON COLUMN pack.title IS 'Title of the pack, from its pack.toml.';
COMMENT ON COLUMN pack.version IS 'Version number of its author; may be empty.';
COMMENT ON COLUMN pack.author IS 'Author; may be empty.';
COMMENT ON COLUMN pack.licence IS 'Licence of the pack; may be empty.';
COMMENT ON COLUMN pack.source IS 'Source of its content; may be empty.';
COMMENT ON COLUMN pack.added_at IS 'When a run first used this content (UTC).';

CREATE TABLE pack_row (
    pack_hash VARCHAR,
    file VARCHAR,
    position INTEGER,
    content JSON NOT NULL,
    PRIMARY KEY (pack_hash, file, position)
);
COMMENT ON TABLE pack_row IS 'Rows of packs: content->>''column'' is a cell.';
COMMENT ON COLUMN pack_row.pack_hash IS 'Content: pack.pack_hash.';
COMMENT ON COLUMN pack_row.file IS 'File of the pack without its ending, such as domain, or its folder.';
COMMENT ON COLUMN pack_row.position IS 'Place in the file, from 0.';
COMMENT ON COLUMN pack_row.content IS 'The row''s filled cells by column.';

-- Catalogue rows, items and published numbers of evaluations from recipes.

CREATE TABLE recipe_metric (
    evaluation VARCHAR,
    place INTEGER NOT NULL,
    metric VARCHAR,
    label VARCHAR NOT NULL,
    is_headline BOOLEAN NOT NULL,
    unit VARCHAR NOT NULL,
    range_low DOUBLE,
    range_high DOUBLE,
    direction VARCHAR NOT NULL CHECK (direction IN ('higher', 'lower', 'none')),
    description VARCHAR NOT NULL,
    null_baseline VARCHAR NOT NULL,
    unscored_when VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    doubts VARCHAR,
    PRIMARY KEY (evaluation, metric)
);
COMMENT ON TABLE recipe_metric IS 'Catalogue rows of evaluations from recipes, as their newest run registered them; the table metric has them too.';
COMMENT ON COLUMN recipe_metric.evaluation IS 'Evaluation.';
COMMENT ON COLUMN recipe_metric.place IS 'Order in the evaluation, from 0.';
COMMENT ON COLUMN recipe_metric.metric IS 'Identifier, unique within the evaluation.';
COMMENT ON COLUMN recipe_metric.label IS 'Name to show.';
COMMENT ON COLUMN recipe_metric.is_headline IS 'Whether the metric sums up the evaluation.';
COMMENT ON COLUMN recipe_metric.unit IS 'Unit of the value.';
COMMENT ON COLUMN recipe_metric.range_low IS 'Lowest possible value; NULL: unbounded.';
COMMENT ON COLUMN recipe_metric.range_high IS 'Highest possible value; NULL: unbounded.';
COMMENT ON COLUMN recipe_metric.direction IS 'Direction that is better: higher, lower, or none.';
COMMENT ON COLUMN recipe_metric.description IS 'Definition of the metric, and the meaning of its ends.';
COMMENT ON COLUMN recipe_metric.null_baseline IS 'Source of null_value.';
COMMENT ON COLUMN recipe_metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN recipe_metric.source IS 'Source of the definition.';
COMMENT ON COLUMN recipe_metric.doubts IS 'Headline that this metric can put in doubt: it is doubted unless this difference to a control has an interval above 0. NULL for other metrics.';

CREATE TABLE evaluation_item (
    evaluation VARCHAR,
    item_hash VARCHAR,
    item VARCHAR,
    cluster VARCHAR NOT NULL,
    content JSON NOT NULL,
    PRIMARY KEY (evaluation, item_hash, item)
);
COMMENT ON TABLE evaluation_item IS 'Items of evaluations from recipes, in every version that a run has used: content->>''column'' is a cell.';
COMMENT ON COLUMN evaluation_item.evaluation IS 'Evaluation.';
COMMENT ON COLUMN evaluation_item.item_hash IS 'Version: run.item_lists->>''item''.';
COMMENT ON COLUMN evaluation_item.item IS 'Item.';
COMMENT ON COLUMN evaluation_item.cluster IS 'Cluster of related items: intervals are taken over clusters.';
COMMENT ON COLUMN evaluation_item.content IS 'Cells of the item by column.';

CREATE TABLE recipe_published (
    evaluation VARCHAR,
    source VARCHAR,
    model VARCHAR,
    value DOUBLE NOT NULL,
    slice_kind VARCHAR,
    slice VARCHAR,
    difference VARCHAR NOT NULL,
    note VARCHAR,
    PRIMARY KEY (evaluation, source, model, slice_kind, slice)
);
COMMENT ON TABLE recipe_published IS 'Published numbers for the headline of evaluations from recipes, as their definitions state them. The author of the definition entered them once.';
COMMENT ON COLUMN recipe_published.evaluation IS 'Evaluation.';
COMMENT ON COLUMN recipe_published.source IS 'Place where the number is published.';
COMMENT ON COLUMN recipe_published.model IS 'Model, as printed.';
COMMENT ON COLUMN recipe_published.value IS 'The number, in the unit of the headline.';
COMMENT ON COLUMN recipe_published.slice_kind IS 'Kind of the slice beside which the number is shown: metric_value.slice_kind.';
COMMENT ON COLUMN recipe_published.slice IS 'Slice beside which the number is shown: metric_value.slice.';
COMMENT ON COLUMN recipe_published.difference IS 'Difference between the published number''s definition and the one here.';
COMMENT ON COLUMN recipe_published.note IS 'Further remarks; empty if there are none.';
