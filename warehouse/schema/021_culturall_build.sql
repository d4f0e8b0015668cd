-- What build_culturall makes, stage by stage: topics, drafts, how hard they are, labels and checks, reviews,
-- and the published versions. Nothing is changed once it is stored, but checks and decisions are replaced.

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
COMMENT ON TABLE culturall_topic IS 'Stage 1: topics with their descriptions, seed examples, and what a model proposes to merge or adds.';
COMMENT ON COLUMN culturall_topic.entry IS 'Identifier: hash of kind, topic and text.';
COMMENT ON COLUMN culturall_topic.kind IS 'topic: in the list. example: of what an item may be about. merge: a proposal for people, not applied.';
COMMENT ON COLUMN culturall_topic.topic IS 'Name of the topic; of a merge, its new name.';
COMMENT ON COLUMN culturall_topic.text IS 'Description of the topic, or the example.';
COMMENT ON COLUMN culturall_topic.parents IS 'Topics that a merge joins; empty else.';
COMMENT ON COLUMN culturall_topic.source IS 'File that it is from, or "model".';
COMMENT ON COLUMN culturall_topic.author IS 'Who wrote it: a model, or whoever made the file.';
COMMENT ON COLUMN culturall_topic.author_kind IS 'person or model.';
COMMENT ON COLUMN culturall_topic.prompt_hash IS 'Hash of the prompt''s wording; NULL for what people wrote, like the next three.';
COMMENT ON COLUMN culturall_topic.request_hash IS 'Engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_topic.response_item IS 'Conversation: response.item. With request_hash it names the stored answer.';
COMMENT ON COLUMN culturall_topic.run_id IS 'Run that asked: run.run_id.';
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
COMMENT ON COLUMN culturall_draft.origin IS 'dataset: rewritten from another benchmark. page: from an excerpt. person: from experience. inspiration: after an item of another language. elevation: harder than its parent. revision: a reviewer''s.';
COMMENT ON COLUMN culturall_draft.parent IS 'Draft that it takes the place of, once people accept it: culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft.partner IS 'Draft that a composition joins with its parent, or that inspired it: culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft.technique IS 'How an elevation makes its parent harder: long_tail, more_context, less_context, composition.';
COMMENT ON COLUMN culturall_draft.source IS 'File and row, document and passage, or "person".';
COMMENT ON COLUMN culturall_draft.source_hash IS 'Hash of the source''s text: a source with a usable draft is not drafted again.';
COMMENT ON COLUMN culturall_draft.source_text IS 'What the draft was made from; empty where a person wrote it.';
COMMENT ON COLUMN culturall_draft.language IS 'Declared language, ISO 639-1.';
COMMENT ON COLUMN culturall_draft.region IS 'Declared region, ISO 3166-1 alpha-2; NULL: to be labelled.';
COMMENT ON COLUMN culturall_draft.topic IS 'Declared topic, one of 16; NULL: to be labelled.';
COMMENT ON COLUMN culturall_draft.form IS 'free, or choice: the options A to D stand in the question. NULL if the answer could not be read, like the texts.';
COMMENT ON COLUMN culturall_draft.scenario IS 'What happens.';
COMMENT ON COLUMN culturall_draft.question IS 'What is asked.';
COMMENT ON COLUMN culturall_draft.answer IS 'The gold answer; of a choice, its letter.';
COMMENT ON COLUMN culturall_draft.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_draft.explanation IS 'Why it is right.';
COMMENT ON COLUMN culturall_draft.scenario_en IS 'The scenario in English, if its author gave it; NULL: see culturall_label.';
COMMENT ON COLUMN culturall_draft.question_en IS 'The question in English, likewise.';
COMMENT ON COLUMN culturall_draft.answer_en IS 'The answer in English, likewise.';
COMMENT ON COLUMN culturall_draft.explanation_en IS 'The explanation in English, likewise.';
COMMENT ON COLUMN culturall_draft.author IS 'Model or person.';
COMMENT ON COLUMN culturall_draft.author_kind IS 'person or model.';
COMMENT ON COLUMN culturall_draft.prompt_hash IS 'Hash of the prompt''s wording; NULL for what people wrote, like the next three.';
COMMENT ON COLUMN culturall_draft.request_hash IS 'Engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_draft.response_item IS 'Conversation: response.item. With request_hash it names the stored answer.';
COMMENT ON COLUMN culturall_draft.run_id IS 'Run that asked: run.run_id.';
COMMENT ON COLUMN culturall_draft.made_at IS 'When it was stored (UTC).';
COMMENT ON COLUMN culturall_draft.faults IS 'Why it is not used, by name; empty if nothing speaks against it.';
COMMENT ON COLUMN culturall_draft.fault_details IS 'What was seen, one text per fault.';

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
COMMENT ON TABLE culturall_measure IS 'Stage 3: which models solve which draft.';
COMMENT ON COLUMN culturall_measure.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_measure.engine_hash IS 'Who answered.';
COMMENT ON COLUMN culturall_measure.judges IS 'Engine hashes of those who judged, separated by |; empty: the answer was matched only.';
COMMENT ON COLUMN culturall_measure.model IS 'Its name.';
COMMENT ON COLUMN culturall_measure.text IS 'The answer; NULL if there is none.';
COMMENT ON COLUMN culturall_measure.unscored_reason IS 'Why is_right is NULL.';
COMMENT ON COLUMN culturall_measure.matched IS 'Whether it equals the gold answer.';
COMMENT ON COLUMN culturall_measure.judged IS 'Whether the judges take it as right; NULL without a verdict.';
COMMENT ON COLUMN culturall_measure.is_right IS 'judged, or matched where there is no judge; NULL if it could not be scored.';
COMMENT ON COLUMN culturall_measure.request_hash IS 'Engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_measure.response_item IS 'Conversation: response.item.';
COMMENT ON COLUMN culturall_measure.run_id IS 'Run that asked: run.run_id.';
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
COMMENT ON TABLE culturall_label IS 'Stage 4: what a model says of a draft: region, topic, content, and its translation there and back.';
COMMENT ON COLUMN culturall_label.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_label.region IS 'Code as the model wrote it; NULL if it could not be read, like all texts here.';
COMMENT ON COLUMN culturall_label.topic IS 'One of 16.';
COMMENT ON COLUMN culturall_label.content IS 'none, personal, harmful or offensive.';
COMMENT ON COLUMN culturall_label.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_label.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_label.answer_en IS 'The answer in English.';
COMMENT ON COLUMN culturall_label.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_label.scenario_back IS 'The English scenario translated back.';
COMMENT ON COLUMN culturall_label.question_back IS 'The English question translated back.';
COMMENT ON COLUMN culturall_label.answer_back IS 'The English answer translated back.';
COMMENT ON COLUMN culturall_label.author IS 'Model that said it.';
COMMENT ON COLUMN culturall_label.prompt_hash IS 'Hash of the prompts'' wording.';
COMMENT ON COLUMN culturall_label.request_hash IS 'Engine and sampling: response.request_hash.';
COMMENT ON COLUMN culturall_label.response_items IS 'Conversations: response.item, of label, translation and back-translation.';
COMMENT ON COLUMN culturall_label.run_id IS 'Run that asked: run.run_id.';
COMMENT ON COLUMN culturall_label.labelled_at IS 'When it was stored (UTC).';

CREATE TABLE culturall_check (
    draft VARCHAR,
    reason VARCHAR,
    is_doubt BOOLEAN NOT NULL,
    detail VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL,
    PRIMARY KEY (draft, reason)
);
COMMENT ON TABLE culturall_check IS 'Stage 4: what the checks of the last release say of each draft; a row with reason "" says that it was checked.';
COMMENT ON COLUMN culturall_check.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_check.reason IS 'Name of the fault or doubt; "" for every draft that was checked.';
COMMENT ON COLUMN culturall_check.is_doubt IS 'Whether people decide about it; a fault that is no doubt keeps the draft out.';
COMMENT ON COLUMN culturall_check.detail IS 'What was seen.';
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
COMMENT ON TABLE culturall_review IS 'What people decided of a draft; a revised text is a draft of its own, whose parent this is.';
COMMENT ON COLUMN culturall_review.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_review.stage IS 'elevate: whether it may take its parent''s place. release: whether it is published.';
COMMENT ON COLUMN culturall_review.decision IS 'accept, revise or reject.';
COMMENT ON COLUMN culturall_review.reviewer IS 'Who decided: another than the author.';
COMMENT ON COLUMN culturall_review.note IS 'Why, in the reviewer''s words; NULL if nothing was said.';
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
COMMENT ON COLUMN culturall_release.number IS '1 for the first version.';
COMMENT ON COLUMN culturall_release.n_items IS 'How many items it has.';
COMMENT ON COLUMN culturall_release.counts IS 'Items by language, region, topic, form, origin and difficulty; decisions and what was left out.';
COMMENT ON COLUMN culturall_release.card IS 'Dataset card (Markdown).';
COMMENT ON COLUMN culturall_release.params IS 'Knobs of the release.';
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
COMMENT ON TABLE culturall_release_item IS 'The items of each published version, as they were then.';
COMMENT ON COLUMN culturall_release_item.version IS 'culturall_release.version.';
COMMENT ON COLUMN culturall_release_item.item IS 'Identifier: language and hash of the texts.';
COMMENT ON COLUMN culturall_release_item.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_release_item.language IS 'ISO 639-1.';
COMMENT ON COLUMN culturall_release_item.region IS 'ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_release_item.topic IS 'One of 16.';
COMMENT ON COLUMN culturall_release_item.form IS 'free or choice.';
COMMENT ON COLUMN culturall_release_item.scenario IS 'What happens.';
COMMENT ON COLUMN culturall_release_item.question IS 'What is asked.';
COMMENT ON COLUMN culturall_release_item.answer IS 'The gold answer.';
COMMENT ON COLUMN culturall_release_item.variants IS 'Further answers that are accepted, separated by |; NULL if there are none.';
COMMENT ON COLUMN culturall_release_item.explanation IS 'Why it is right.';
COMMENT ON COLUMN culturall_release_item.scenario_en IS 'The scenario in English.';
COMMENT ON COLUMN culturall_release_item.question_en IS 'The question in English.';
COMMENT ON COLUMN culturall_release_item.answer_en IS 'The answer in English.';
COMMENT ON COLUMN culturall_release_item.explanation_en IS 'The explanation in English.';
COMMENT ON COLUMN culturall_release_item.difficulty IS 'By the share of the models that solve it; NULL if fewer than three were asked.';
COMMENT ON COLUMN culturall_release_item.n_right IS 'Models that solve it; NULL if none was asked.';
COMMENT ON COLUMN culturall_release_item.n_models IS 'Models that were asked; NULL if none was.';
COMMENT ON COLUMN culturall_release_item.origin IS 'culturall_draft.origin; of a revision, that of the draft that was revised.';
COMMENT ON COLUMN culturall_release_item.source IS 'culturall_draft.source, likewise.';
COMMENT ON COLUMN culturall_release_item.author IS 'Model or person who wrote the draft, likewise.';
COMMENT ON COLUMN culturall_release_item.decision IS 'accept: as drafted; revise: as the reviewer changed it.';
COMMENT ON COLUMN culturall_release_item.reviewer IS 'Who decided.';
