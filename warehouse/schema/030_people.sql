-- Studies with people. Answers are only ever added; a later revision stands beside the earlier one, and who
-- withdraws is counted, with no answers left.

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
COMMENT ON COLUMN study.kind IS 'What it asks, such as spectral-ranking; says what follows from its answers.';
COMMENT ON COLUMN study.title IS 'Title in its first language.';
COMMENT ON COLUMN study.study_hash IS 'Identifies pages, fields and texts when it was last pulled.';
COMMENT ON COLUMN study.languages IS 'Languages in which people answer.';
COMMENT ON COLUMN study.annotators_per_item IS 'How many people are to see each item.';
COMMENT ON COLUMN study.n_assigned IS 'Pages that were assigned to people.';
COMMENT ON COLUMN study.n_withdrawn IS 'People who withdrew; none of their answers is kept.';
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
    PRIMARY KEY (study, item)
);
COMMENT ON TABLE study_item IS 'What people are asked about, with what they are not told of it.';
COMMENT ON COLUMN study_item.study IS 'Study: study.study.';
COMMENT ON COLUMN study_item.item IS 'Name of the item, which tells nothing of where it is from.';
COMMENT ON COLUMN study_item.item_hash IS 'Identifies the words that people see.';
COMMENT ON COLUMN study_item.page IS 'Form on which it is shown.';
COMMENT ON COLUMN study_item.language IS 'Language of the item.';
COMMENT ON COLUMN study_item.stratum IS 'Group over which items were drawn evenly; empty if there are none.';
COMMENT ON COLUMN study_item.model IS 'Model that wrote it; NULL if none did.';
COMMENT ON COLUMN study_item.condition IS 'Condition under which it was made; NULL if there is none.';
COMMENT ON COLUMN study_item.author IS 'Person who wrote it, by code; NULL if none did.';
COMMENT ON COLUMN study_item.code IS 'Name of what it stands for outside: an answer''s code, a dish''s url, a draft.';
COMMENT ON COLUMN study_item.is_check IS 'Whether it is an attention check.';

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
COMMENT ON TABLE human_answer IS 'Every saved revision of every answer; a ranking and marks have one row an entry. Rows are only added, but for people who withdraw.';
COMMENT ON COLUMN human_answer.study IS 'Study: study.study.';
COMMENT ON COLUMN human_answer.study_hash IS 'Identifies pages, fields and texts as they were when it was saved.';
COMMENT ON COLUMN human_answer.item IS 'Item: study_item.item; of a page that each person has once, its name.';
COMMENT ON COLUMN human_answer.item_hash IS 'Identifies the words that the person saw.';
COMMENT ON COLUMN human_answer.annotator IS 'Person, by a code that is no name.';
COMMENT ON COLUMN human_answer.field IS 'What was asked.';
COMMENT ON COLUMN human_answer.entry IS 'What was ranked or marked; empty for other fields.';
COMMENT ON COLUMN human_answer.value IS 'Rank from 1, option, number or text; empty for nothing.';
COMMENT ON COLUMN human_answer.place IS 'Where the entry, or the option of that value, stood on the page, from 1; NULL if it was not listed.';
COMMENT ON COLUMN human_answer.started_at IS 'When the person first opened the page (UTC).';
COMMENT ON COLUMN human_answer.saved_at IS 'When it was saved (UTC).';
COMMENT ON COLUMN human_answer.revision IS 'Number of the revision of this field, from 1.';
COMMENT ON COLUMN human_answer.status IS 'draft: something is missing.';
COMMENT ON COLUMN human_answer.tool IS 'Program that collected it.';
COMMENT ON COLUMN human_answer.version IS 'Its version.';

CREATE TABLE human_exclusion (
    study VARCHAR,
    annotator VARCHAR,
    reason VARCHAR,
    PRIMARY KEY (study, annotator, reason)
);
COMMENT ON TABLE human_exclusion IS 'Whose answers do not count, and why: graded after each pull.';
COMMENT ON COLUMN human_exclusion.study IS 'Study: study.study.';
COMMENT ON COLUMN human_exclusion.annotator IS 'Person: human_answer.annotator.';
COMMENT ON COLUMN human_exclusion.reason IS 'failed an attention check, too fast, or unfinished.';

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
COMMENT ON TABLE human_domain IS 'What people of a ranking study expect of each domain, as of each pull that changed it: the ground truth of culturemeter run spectral --human STUDY.';
COMMENT ON COLUMN human_domain.study IS 'Study: study.study.';
COMMENT ON COLUMN human_domain.snapshot IS 'Hash of the scores and categories. A run names it (params.human), so that later answers do not change its numbers.';
COMMENT ON COLUMN human_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN human_domain.human_score IS 'Mean rank, from 1; low means common across countries.';
COMMENT ON COLUMN human_domain.human_sd IS 'Standard deviation of the ranks; NULL for one person.';
COMMENT ON COLUMN human_domain.n_people IS 'People who ranked it.';
COMMENT ON COLUMN human_domain.share_high IS 'Share of those who annotated its pluralism who say that a country has many answers; NULL if nobody did.';
COMMENT ON COLUMN human_domain.human_category IS 'Expected category: effective rank by what most say of its pluralism, spectral gap ratio by a score below the median; NULL if nobody annotated it or people are tied.';
COMMENT ON COLUMN human_domain.pulled_at IS 'When a pull last gave these (UTC).';
