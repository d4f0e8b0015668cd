-- What the worldwise evaluation asks and projects answers on. Dimensions of any framework are rows.

CREATE TABLE dimension (
    framework VARCHAR,
    dimension VARCHAR,
    label VARCHAR NOT NULL,
    low_label VARCHAR NOT NULL,
    high_label VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    PRIMARY KEY (framework, dimension)
);
COMMENT ON TABLE dimension IS 'The axes that answers are projected on (seed paper 003, section 7.3; Schwartz 1992).';
COMMENT ON COLUMN dimension.framework IS 'Theory that it belongs to: hofstede or schwartz.';
COMMENT ON COLUMN dimension.dimension IS 'Identifier, unique within the framework.';
COMMENT ON COLUMN dimension.label IS 'Name to show, as its author has it.';
COMMENT ON COLUMN dimension.low_label IS 'What the low end means.';
COMMENT ON COLUMN dimension.high_label IS 'What the high end means.';
COMMENT ON COLUMN dimension.description IS 'What it measures.';

CREATE TABLE exemplar (
    framework VARCHAR,
    dimension VARCHAR,
    pole VARCHAR CHECK (pole IN ('high', 'low')),
    number INTEGER CHECK (number > 0),
    text VARCHAR NOT NULL,
    PRIMARY KEY (framework, dimension, pole, number)
);
COMMENT ON TABLE exemplar IS 'Statements that stand for the two ends of each dimension. No wording of guiding_value is in them.';
COMMENT ON COLUMN exemplar.framework IS 'Framework: dimension.framework.';
COMMENT ON COLUMN exemplar.dimension IS 'Dimension: dimension.dimension.';
COMMENT ON COLUMN exemplar.pole IS 'End that it stands for: high or low.';
COMMENT ON COLUMN exemplar.number IS 'From 1 within its pole. Both poles have as many statements, of a similar length, so that form cancels out.';
COMMENT ON COLUMN exemplar.text IS 'The statement.';

CREATE TABLE guiding_value (
    value VARCHAR PRIMARY KEY,
    label VARCHAR NOT NULL UNIQUE,
    description VARCHAR NOT NULL
);
COMMENT ON TABLE guiding_value IS 'The values that a model picks three of to explain its decision (seed paper 003, section 4.9, names seven).';
COMMENT ON COLUMN guiding_value.value IS 'Identifier.';
COMMENT ON COLUMN guiding_value.label IS 'Name, as models see and return it.';
COMMENT ON COLUMN guiding_value.description IS 'What is meant by it.';

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
COMMENT ON TABLE scenario IS 'Everyday dilemmas whose two options pull apart on one primary dimension. No answer is right.';
COMMENT ON COLUMN scenario.scenario IS 'Identifier.';
COMMENT ON COLUMN scenario.framework IS 'Framework: dimension.framework.';
COMMENT ON COLUMN scenario.dimension IS 'Primary dimension: dimension.dimension.';
COMMENT ON COLUMN scenario.category IS 'Domain of life.';
COMMENT ON COLUMN scenario.region IS 'Part of the world that names and places suggest; "none" if they suggest none.';
COMMENT ON COLUMN scenario.is_multi IS 'Whether the options pull apart on further dimensions too.';
COMMENT ON COLUMN scenario.other_dimensions IS 'Those further dimensions, of the same framework, separated by |; NULL if there are none.';
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
COMMENT ON TABLE culture_profile IS 'What a framework''s authors measured for each country. A dimension that was not measured has no row.';
COMMENT ON COLUMN culture_profile.profile IS 'hofstede_published: a country''s own scores. hofstede_regional: for what a country lacks there, the score of the region that it was surveyed in. seed_bucketed: seed paper 003, section 7.4.';
COMMENT ON COLUMN culture_profile.country IS 'Country: country.country.';
COMMENT ON COLUMN culture_profile.dimension IS 'Dimension: dimension.dimension.';
COMMENT ON COLUMN culture_profile.score IS 'seed_bucketed: -2 to 2. Others: 0 to 100 as designed, though later countries exceeded 100 (up to 112).';
COMMENT ON COLUMN culture_profile.framework IS 'Framework: dimension.framework.';

CREATE TABLE stereotype (
    phrase VARCHAR,
    country_or_region VARCHAR NOT NULL,
    language VARCHAR,
    PRIMARY KEY (language, phrase)
);
COMMENT ON TABLE stereotype IS 'Phrases that generalise about a whole people, ascribe conduct to descent, or present a culture as strange or lesser. They are listed only to be counted in answers (stereotype score); the list endorses none and is not complete.';
COMMENT ON COLUMN stereotype.phrase IS 'Phrase to look for, in any case.';
COMMENT ON COLUMN stereotype.country_or_region IS 'Whom it is said of: country.country, a region, or "any".';
COMMENT ON COLUMN stereotype.language IS 'Language that it is written in, ISO 639-1.';

CREATE TABLE persona (
    language VARCHAR PRIMARY KEY,
    text VARCHAR NOT NULL CHECK (contains(text, '{country}'))
);
COMMENT ON TABLE persona IS 'The prompt that makes a model answer as somebody of a country. A run without it is the baseline.';
COMMENT ON COLUMN persona.language IS 'Language that it is written in, ISO 639-1.';
COMMENT ON COLUMN persona.text IS 'The prompt; {country} stands for the country''s name in that language, in its plain form.';
