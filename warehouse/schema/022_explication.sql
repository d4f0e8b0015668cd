-- Who talks with models in the explication evaluation.

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
COMMENT ON COLUMN explication_persona.country IS 'Where the person lives: country.country.';
COMMENT ON COLUMN explication_persona.cuisine IS 'Cuisine that the person grew up with.';
COMMENT ON COLUMN explication_persona.profile IS 'All of the persona: habits, limits, facts with the phrases by which they are told, what a recommendation must keep.';
