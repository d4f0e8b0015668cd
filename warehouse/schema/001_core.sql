-- Reference data, the plan (run_request against part_unit) and results. All times are UTC.
-- No foreign keys: DuckDB then refuses to update a row that is referred to. checks/*.sql look instead.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE migration IS 'The files of warehouse/schema that were applied to this database.';
COMMENT ON COLUMN migration.version IS 'Number that the file name begins with.';
COMMENT ON COLUMN migration.name IS 'File name.';
COMMENT ON COLUMN migration.sha256 IS 'SHA-256 of the file when it was applied; a changed file is refused.';
COMMENT ON COLUMN migration.applied_at IS 'When it was applied (UTC).';

CREATE TABLE state (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE state IS 'What this database was last brought up to date with; Warehouse.open() compares.';
COMMENT ON COLUMN state.name IS '"home", "views" or "reference/<file>".';
COMMENT ON COLUMN state.value IS 'The folder that the views read parts from, or the SHA-256 of the file or files.';

CREATE TABLE country (
    country VARCHAR PRIMARY KEY,
    alpha3 VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL,
    region VARCHAR NOT NULL,
    subregion VARCHAR NOT NULL,
    population BIGINT NOT NULL
);
COMMENT ON TABLE country IS 'The countries that models are asked about.';
COMMENT ON COLUMN country.country IS 'ISO 3166-1 alpha-2 code.';
COMMENT ON COLUMN country.alpha3 IS 'ISO 3166-1 alpha-3 code.';
COMMENT ON COLUMN country.name IS 'English name as it reads in a sentence, with its article.';
COMMENT ON COLUMN country.region IS 'UN M49 region.';
COMMENT ON COLUMN country.subregion IS 'UN M49 subregion.';
COMMENT ON COLUMN country.population IS 'Inhabitants, as CLDR has it.';

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
COMMENT ON TABLE domain IS 'Cultural domains, with what people expect of them (seed paper, tables 1 and 6).';
COMMENT ON COLUMN domain.domain IS 'Identifier of the domain.';
COMMENT ON COLUMN domain.label IS 'Name to show.';
COMMENT ON COLUMN domain.item_list IS 'The list whose items are scored: item_list.item_list.';
COMMENT ON COLUMN domain.prefix IS 'Instruction before the question.';
COMMENT ON COLUMN domain.human_question IS 'What the survey participants ranked.';
COMMENT ON COLUMN domain.human_score IS 'Mean rank that 80 participants gave, 1 to 9; low means common across countries.';
COMMENT ON COLUMN domain.human_sd IS 'Standard deviation of those ranks.';
COMMENT ON COLUMN domain.human_category IS 'Expected category: effective rank, then spectral gap ratio, each High or Low.';
COMMENT ON COLUMN domain.seed_items IS 'How many items the seed paper scored, as it words it.';

CREATE TABLE question (
    question VARCHAR PRIMARY KEY,
    domain VARCHAR NOT NULL,
    variant INTEGER NOT NULL,
    template VARCHAR NOT NULL,
    UNIQUE (domain, variant)
);
COMMENT ON TABLE question IS 'The wordings in which each domain is asked (seed paper, table 7).';
COMMENT ON COLUMN question.question IS 'Identifier: domain, hyphen, variant.';
COMMENT ON COLUMN question.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN question.variant IS 'Number of the wording within its domain, from 1.';
COMMENT ON COLUMN question.template IS 'Text of the question; {country} stands for country.name.';

CREATE TABLE source (
    file VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    licence VARCHAR NOT NULL,
    retrieved DATE NOT NULL,
    build VARCHAR NOT NULL,
    notes VARCHAR
);
COMMENT ON TABLE source IS 'Where each file of warehouse/reference comes from.';
COMMENT ON COLUMN source.file IS 'File name.';
COMMENT ON COLUMN source.source IS 'Who publishes the data.';
COMMENT ON COLUMN source.version IS 'Version of the source.';
COMMENT ON COLUMN source.licence IS 'Licence, as an SPDX identifier where there is one.';
COMMENT ON COLUMN source.retrieved IS 'Date of retrieval.';
COMMENT ON COLUMN source.build IS 'Script in warehouse/reference that made the file, or "by hand".';
COMMENT ON COLUMN source.notes IS 'What was selected and changed.';

CREATE TABLE item_list (
    list_hash VARCHAR PRIMARY KEY,
    item_list VARCHAR NOT NULL,
    n_items INTEGER NOT NULL CHECK (n_items > 0),
    source VARCHAR NOT NULL,
    loaded_at TIMESTAMP NOT NULL,
    is_current BOOLEAN NOT NULL
);
COMMENT ON TABLE item_list IS 'Every version of every item list. Old ones stay, so that old results still join.';
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
COMMENT ON TABLE item IS 'What models choose among: the items of every version of every list.';
COMMENT ON COLUMN item.list_hash IS 'Version of the list: item_list.list_hash.';
COMMENT ON COLUMN item.position IS 'Place in the list as loaded, from 0.';
COMMENT ON COLUMN item.item IS 'Text that is scored.';
COMMENT ON COLUMN item.aliases IS 'Other names; not scored.';
COMMENT ON COLUMN item.countries IS 'Countries that the reference has the item for: country.country.';
COMMENT ON COLUMN item.ingredients IS 'What a dish is made of; empty for other lists.';
COMMENT ON COLUMN item.code IS 'ISO code of a language or currency; NULL where there is none.';

CREATE TABLE metric (
    evaluation VARCHAR,
    metric VARCHAR,
    label VARCHAR NOT NULL,
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
COMMENT ON COLUMN metric.unit IS 'Unit of the value.';
COMMENT ON COLUMN metric.range_low IS 'Lowest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.range_high IS 'Highest possible value; NULL: unbounded.';
COMMENT ON COLUMN metric.direction IS 'Which way is better: higher, lower, or none.';
COMMENT ON COLUMN metric.description IS 'What it measures and what its ends mean.';
COMMENT ON COLUMN metric.null_baseline IS 'What null_value compares with: a model that knows nothing; "none" if there is none.';
COMMENT ON COLUMN metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN metric.source IS 'Where the definition comes from.';

CREATE TABLE run (
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
    status VARCHAR NOT NULL CHECK (status IN ('running', 'finished', 'failed'))
);
COMMENT ON TABLE run IS 'One evaluation of one model under one configuration by one version of the code.';
COMMENT ON COLUMN run.run_id IS 'Hash of configuration, engine and code version.';
COMMENT ON COLUMN run.evaluation IS 'Name of the evaluation.';
COMMENT ON COLUMN run.model IS 'Model, as leaderboards show it.';
COMMENT ON COLUMN run.is_null IS 'Whether it is a null baseline that knows nothing, not a model.';
COMMENT ON COLUMN run.profile IS 'Run profile that set the parameters.';
COMMENT ON COLUMN run.config_hash IS 'Hash of all that must be equal for two models to be compared.';
COMMENT ON COLUMN run.engine_hash IS 'Hash of the engine spec.';
COMMENT ON COLUMN run.params IS 'Parameters of the evaluation.';
COMMENT ON COLUMN run.engine IS 'Engine spec: kind, model, revision, dtype and so on.';
COMMENT ON COLUMN run.item_lists IS 'Name to list_hash of the item lists used.';
COMMENT ON COLUMN run.boundary_rule IS 'How prefix and continuation were tokenised.';
COMMENT ON COLUMN run.code_version IS 'Version of the code.';
COMMENT ON COLUMN run.started_at IS 'When it last began work (UTC).';
COMMENT ON COLUMN run.finished_at IS 'When it ended, whether finished or failed (UTC); NULL while running or if killed.';
COMMENT ON COLUMN run.status IS 'running, finished or failed. Leaderboards show finished runs only.';

CREATE TABLE run_request (
    run_id VARCHAR,
    request_hash VARCHAR,
    domain VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    PRIMARY KEY (run_id, request_hash)
);
COMMENT ON TABLE run_request IS 'What each run asked of its engine. Runs that ask the same share the answer.';
COMMENT ON COLUMN run_request.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN run_request.request_hash IS 'Hash of engine, prompt, list content and boundary rule.';
COMMENT ON COLUMN run_request.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN run_request.question IS 'Question: question.question.';

CREATE TABLE part_unit (
    kind VARCHAR,
    request_hash VARCHAR,
    unit VARCHAR,
    part VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    n_rows BIGINT NOT NULL CHECK (n_rows > 0),
    written_at TIMESTAMP NOT NULL,
    PRIMARY KEY (kind, request_hash, unit)
);
COMMENT ON TABLE part_unit IS 'What has been answered, and which Parquet part holds the answer. What is not here is still to be done.';
COMMENT ON COLUMN part_unit.kind IS 'Kind of part, which is its folder under parts/.';
COMMENT ON COLUMN part_unit.request_hash IS 'What was asked: run_request.request_hash.';
COMMENT ON COLUMN part_unit.unit IS 'Which share of the request: the country (item_logprob) or domain (country_similarity).';
COMMENT ON COLUMN part_unit.part IS 'Name of the part: parts/<kind>/<part>.parquet.';
COMMENT ON COLUMN part_unit.run_id IS 'Run that did the work: run.run_id.';
COMMENT ON COLUMN part_unit.n_rows IS 'Rows of this unit in the part.';
COMMENT ON COLUMN part_unit.written_at IS 'When the part was registered (UTC).';

CREATE TABLE metric_value (
    run_id VARCHAR,
    model VARCHAR NOT NULL,
    metric VARCHAR,
    slice_kind VARCHAR,
    slice VARCHAR,
    value DOUBLE CHECK (NOT isnan(value)),
    unscored_reason VARCHAR,
    n_scored BIGINT NOT NULL CHECK (n_scored >= 0),
    n_unscored BIGINT NOT NULL CHECK (n_unscored >= 0),
    ci_low DOUBLE CHECK (NOT isnan(ci_low)),
    ci_high DOUBLE CHECK (NOT isnan(ci_high)),
    null_value DOUBLE CHECK (NOT isnan(null_value)),
    PRIMARY KEY (run_id, metric, slice_kind, slice),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL))
);
COMMENT ON TABLE metric_value IS 'Every number of every run, long. Unscored is NULL with a reason, never NaN and never 0.';
COMMENT ON COLUMN metric_value.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN metric_value.model IS 'Model: run.model.';
COMMENT ON COLUMN metric_value.metric IS 'Metric: metric.metric of the run''s evaluation.';
COMMENT ON COLUMN metric_value.slice_kind IS 'overall, domain, question, country and so on.';
COMMENT ON COLUMN metric_value.slice IS 'Which domain, question or country; "all" for overall.';
COMMENT ON COLUMN metric_value.value IS 'The number, infinite where its definition says so; NULL if unscored.';
COMMENT ON COLUMN metric_value.unscored_reason IS 'Why there is no value; NULL if there is one.';
COMMENT ON COLUMN metric_value.n_scored IS 'Points that the value rests on.';
COMMENT ON COLUMN metric_value.n_unscored IS 'Points that should have been in it and could not be scored.';
COMMENT ON COLUMN metric_value.ci_low IS 'Lower end of the 95 % bootstrap interval; NULL if none was computed.';
COMMENT ON COLUMN metric_value.ci_high IS 'Upper end of the 95 % bootstrap interval; NULL if none was computed.';
COMMENT ON COLUMN metric_value.null_value IS 'What a model that knows nothing scores (metric.null_baseline); NULL if there is none.';
