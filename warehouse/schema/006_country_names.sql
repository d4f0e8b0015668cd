CREATE TABLE country_name (
    country VARCHAR,
    language VARCHAR,
    name VARCHAR NOT NULL,
    PRIMARY KEY (country, language)
);
COMMENT ON TABLE country_name IS 'What a country is called in its own main language, for persona prompts in that language.';
COMMENT ON COLUMN country_name.country IS 'Country: country.country.';
COMMENT ON COLUMN country_name.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN country_name.name IS 'Name in that language, in its plain form.';
