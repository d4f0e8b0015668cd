-- What build_specnorm makes: drafts, with what became of them, and the items that people let through.

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
COMMENT ON TABLE specnorm_draft IS 'Every SpecNorm item that a model drafted, from its seed to what checks and people said of it.';
COMMENT ON COLUMN specnorm_draft.draft IS 'Identifier: hash of request_hash and response_item.';
COMMENT ON COLUMN specnorm_draft.seed IS 'Identifier of the seed: hash of country, statement and cues.';
COMMENT ON COLUMN specnorm_draft.statement IS 'The seed''s norm: specnorm_seed.statement, or from a user''s file.';
COMMENT ON COLUMN specnorm_draft.country IS 'Country: country.country; NULL if the seed''s country is not in that table.';
COMMENT ON COLUMN specnorm_draft.country_name IS 'Name of the country in the prompt.';
COMMENT ON COLUMN specnorm_draft.cues IS 'What marks the subgroup, such as "ethnicity: Sámi", separated by |.';
COMMENT ON COLUMN specnorm_draft.specificity IS 'By number of cues: low (1), medium (2 or 3), high (4 or more).';
COMMENT ON COLUMN specnorm_draft.stance IS 'Answer that the scene was asked to have: yes, the norm is kept; no, it is broken.';
COMMENT ON COLUMN specnorm_draft.persona IS 'As the model wrote it, like the next four; NULL if its answer could not be read.';
COMMENT ON COLUMN specnorm_draft.situation IS 'What happens.';
COMMENT ON COLUMN specnorm_draft.question IS 'What is asked about it.';
COMMENT ON COLUMN specnorm_draft.label IS 'The model''s own answer: yes or no.';
COMMENT ON COLUMN specnorm_draft.norm IS 'The norm in the model''s words.';
COMMENT ON COLUMN specnorm_draft.text_hash IS 'Hash of these five, which the review queue carries; NULL if the answer could not be read.';
COMMENT ON COLUMN specnorm_draft.model IS 'Model that wrote it.';
COMMENT ON COLUMN specnorm_draft.prompt_hash IS 'Hash of the prompt''s wording.';
COMMENT ON COLUMN specnorm_draft.request_hash IS 'Engine and sampling: response.request_hash.';
COMMENT ON COLUMN specnorm_draft.response_item IS 'Conversation: response.item. With request_hash it names the stored answer.';
COMMENT ON COLUMN specnorm_draft.run_id IS 'Build that drafted it: run.run_id.';
COMMENT ON COLUMN specnorm_draft.drafted_at IS 'When it was checked and stored (UTC).';
COMMENT ON COLUMN specnorm_draft.faults IS 'Reasons for which the checks reject it, by name; empty if there are none.';
COMMENT ON COLUMN specnorm_draft.fault_details IS 'What was found, one text a fault.';
COMMENT ON COLUMN specnorm_draft.status IS 'rejected_by_checks; queued: waits for a review; accepted, revised, rejected: by a reviewer.';
COMMENT ON COLUMN specnorm_draft.reviewer IS 'Who decided; NULL before a review.';
COMMENT ON COLUMN specnorm_draft.note IS 'Why, in the reviewer''s words; NULL if nothing was said.';
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
COMMENT ON COLUMN specnorm_item.item IS 'Identifier, the same as in the evaluation of a file with these items.';
COMMENT ON COLUMN specnorm_item.country IS 'Country: country.country; NULL if it is not in that table.';
COMMENT ON COLUMN specnorm_item.country_name IS 'Name of the country.';
COMMENT ON COLUMN specnorm_item.group_name IS 'The subgroup that results are broken down by.';
COMMENT ON COLUMN specnorm_item.persona IS 'Who is meant, as published, like the next four.';
COMMENT ON COLUMN specnorm_item.situation IS 'What happens.';
COMMENT ON COLUMN specnorm_item.question IS 'What is asked about it.';
COMMENT ON COLUMN specnorm_item.label IS 'The right answer: yes, acceptable in the subgroup; no, not acceptable.';
COMMENT ON COLUMN specnorm_item.norm IS 'The norm behind it.';
COMMENT ON COLUMN specnorm_item.cues IS 'What marks the subgroup, such as "ethnicity: Sámi", separated by |.';
COMMENT ON COLUMN specnorm_item.specificity IS 'By number of cues: low (1), medium (2 or 3), high (4 or more).';
COMMENT ON COLUMN specnorm_item.draft IS 'Draft that it comes from: specnorm_draft.draft.';
COMMENT ON COLUMN specnorm_item.seed IS 'Seed that the draft was built on: specnorm_draft.seed.';
COMMENT ON COLUMN specnorm_item.model IS 'Model that wrote the draft.';
COMMENT ON COLUMN specnorm_item.prompt_hash IS 'Hash of the prompt''s wording.';
COMMENT ON COLUMN specnorm_item.decision IS 'accept: as drafted; revise: as the reviewer changed it.';
COMMENT ON COLUMN specnorm_item.reviewer IS 'Who decided.';
COMMENT ON COLUMN specnorm_item.reviewed_at IS 'When the decision was read (UTC).';
