-- What the list of languages is made of: which language is spoken where, by how many.

CREATE TABLE country_language (
    country VARCHAR,
    language VARCHAR,
    status VARCHAR CHECK (status IN ('official', 'de_facto_official', 'official_regional')),
    percent DOUBLE NOT NULL CHECK (percent BETWEEN 0 AND 100),
    PRIMARY KEY (country, language)
);
COMMENT ON TABLE country_language IS 'Languages that are official in a country or a part of it, or that at least 1 % of its people speak. The item list languages names the countries where a language is official, or spoken by 10 %, or by 1 % if no country has it as its national language.';
COMMENT ON COLUMN country_language.country IS 'Country: country.country.';
COMMENT ON COLUMN country_language.language IS 'Language: code of an item of the list languages, ISO 639.';
COMMENT ON COLUMN country_language.status IS 'official, de_facto_official, official_regional (in a part of the country); NULL: none.';
COMMENT ON COLUMN country_language.percent IS 'Share of the people who speak it, as a second language too, 0 to 100; rounded, from censuses of different years.';
