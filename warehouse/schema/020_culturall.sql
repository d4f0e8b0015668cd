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
    explanation_en VARCHAR NOT NULL,
    fact VARCHAR NOT NULL,
    look_up VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    status VARCHAR NOT NULL
);
COMMENT ON TABLE culturall_item IS 'Grounded tasks that are shipped: an everyday scenario, a question that arises from it, a short objective answer. After Lin et al. (2026), written for this project.';
COMMENT ON COLUMN culturall_item.item IS 'Identifier: language-region-topic-number.';
COMMENT ON COLUMN culturall_item.language IS 'Language of the texts, ISO 639-1.';
COMMENT ON COLUMN culturall_item.region IS 'Whose custom, law or usage it is about, ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_item.topic IS 'One of 16 topics.';
COMMENT ON COLUMN culturall_item.form IS 'free: a few words. choice: one of the options A to D that stand in the question.';
COMMENT ON COLUMN culturall_item.scenario IS 'What happens; without it the question cannot be answered.';
COMMENT ON COLUMN culturall_item.question IS 'What is asked.';
COMMENT ON COLUMN culturall_item.answer IS 'The gold answer.';
COMMENT ON COLUMN culturall_item.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_item.explanation IS 'Why it is right.';
COMMENT ON COLUMN culturall_item.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_item.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_item.answer_en IS 'The gold answer in English.';
COMMENT ON COLUMN culturall_item.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_item.fact IS 'The rule that the item rests on, in English.';
COMMENT ON COLUMN culturall_item.look_up IS 'Where it can be looked up.';
COMMENT ON COLUMN culturall_item.source IS 'Where the item is from.';
COMMENT ON COLUMN culturall_item.status IS 'Who checked it.';
