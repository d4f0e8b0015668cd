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
COMMENT ON TABLE cure_item IS 'Items of the samples that are shipped for the four CURE benchmarks: may this be done here, and why?';
COMMENT ON COLUMN cure_item.benchmark IS 'normad: a story to be judged. casa: a request around a symbol, adhering or violating. culturebank: advice for a persona. specnorm: a norm of a subgroup.';
COMMENT ON COLUMN cure_item.item IS 'Identifier within the benchmark.';
COMMENT ON COLUMN cure_item.country IS 'Country: country.country.';
COMMENT ON COLUMN cure_item.group_name IS 'culturebank, specnorm: the cultural group. normad, casa: the topic. NULL if there is none.';
COMMENT ON COLUMN cure_item.persona IS 'Who is meant; NULL if the benchmark has none.';
COMMENT ON COLUMN cure_item.situation IS 'What happens, or what the user asks for.';
COMMENT ON COLUMN cure_item.question IS 'What is asked about it.';
COMMENT ON COLUMN cure_item.label IS 'The right answer: yes, no or (normad) neutral.';
COMMENT ON COLUMN cure_item.gold IS 'The norm behind it: what an explanation is judged against.';
COMMENT ON COLUMN cure_item.cues IS 'specnorm: what marks the subgroup, such as "ethnicity: Sámi", separated by |; NULL if there are none.';
COMMENT ON COLUMN cure_item.rule IS 'normad: rule of thumb. casa: the symbol. specnorm: specificity (low, medium, high). NULL if there is none.';

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
COMMENT ON COLUMN specnorm_seed.region IS 'Part of the country that it holds in; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.ethnicity IS 'People that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.religion IS 'Religion that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.age IS 'Age that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.gender IS 'Gender that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.occupation IS 'Occupation that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.marital_status IS 'Marital status that it holds for; NULL: not said.';
COMMENT ON COLUMN specnorm_seed.topic IS 'What it is about.';
