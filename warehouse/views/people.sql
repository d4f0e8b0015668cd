-- The last revision counts if it is complete. Withdrawn answers are deleted; attention checks are not ratings.
CREATE OR REPLACE VIEW human_rating AS
SELECT a.study, s.kind, a.item, coalesce(i.language, '') AS language, coalesce(i.stratum, '') AS stratum,
    i.model, i.condition, i.code, a.annotator, a.field, a.entry, a.value, try_cast(a.value AS DOUBLE) AS number,
    a.place, a.saved_at
FROM human_answer AS a
JOIN study AS s USING (study)
LEFT JOIN study_item AS i USING (study, item)
WHERE NOT coalesce(i.is_check, false)
    AND NOT EXISTS (FROM human_exclusion AS x WHERE x.study = a.study AND x.annotator = a.annotator)
QUALIFY a.revision = max(a.revision) OVER (PARTITION BY a.study, a.annotator, a.item, a.field)
    AND a.status = 'complete' AND a.value <> '';

COMMENT ON VIEW human_rating IS 'Answers of people that count: the last complete revision of each field, one row per entry, without attention checks and excluded people (human_exclusion).';
COMMENT ON COLUMN human_rating.kind IS 'Subject of the study: study.kind.';
COMMENT ON COLUMN human_rating.item IS 'Item: study_item.item; for a page that each person has once, the name of the page.';
COMMENT ON COLUMN human_rating.language IS 'Language of the item; empty for a page that each person has once.';
COMMENT ON COLUMN human_rating.stratum IS 'Group of the item: study_item.stratum.';
COMMENT ON COLUMN human_rating.model IS 'Model that wrote the item; NULL if none did.';
COMMENT ON COLUMN human_rating.condition IS 'Condition of the item; NULL if there is none.';
COMMENT ON COLUMN human_rating.code IS 'Code of the item outside the study: study_item.code.';
COMMENT ON COLUMN human_rating.annotator IS 'Person, by code.';
COMMENT ON COLUMN human_rating.field IS 'Question.';
COMMENT ON COLUMN human_rating.entry IS 'Entry that was ranked or marked; empty for other fields.';
COMMENT ON COLUMN human_rating.value IS 'Rank from 1, option, number or text.';
COMMENT ON COLUMN human_rating.number IS 'The value as a number; NULL if it is not one.';
COMMENT ON COLUMN human_rating.place IS 'Position on the page, from 1.';
COMMENT ON COLUMN human_rating.saved_at IS 'When it was saved (UTC).';

CREATE OR REPLACE VIEW annotator AS
SELECT a.study, a.annotator, count(DISTINCT a.item) AS n_items, count(DISTINCT (a.item, a.field)) AS n_fields,
    count(DISTINCT (a.item, a.field, a.revision)) AS n_revisions, min(a.started_at) AS started_at,
    max(a.saved_at) AS saved_at, any_value(x.reasons) AS excluded
FROM human_answer AS a
LEFT JOIN (
    SELECT study, annotator, string_agg(reason, ', ' ORDER BY reason) AS reasons
    FROM human_exclusion GROUP BY study, annotator
) AS x USING (study, annotator)
GROUP BY a.study, a.annotator;

COMMENT ON VIEW annotator IS 'People who answered, by code: number of answers, times, and whether they count.';
COMMENT ON COLUMN annotator.annotator IS 'Person, by code.';
COMMENT ON COLUMN annotator.n_items IS 'Number of pages with an answer.';
COMMENT ON COLUMN annotator.n_fields IS 'Number of fields with an answer.';
COMMENT ON COLUMN annotator.n_revisions IS 'Number of saved revisions of all fields.';
COMMENT ON COLUMN annotator.started_at IS 'When the first page was opened (UTC).';
COMMENT ON COLUMN annotator.saved_at IS 'When the last answer was saved (UTC).';
COMMENT ON COLUMN annotator.excluded IS 'Why the answers do not count; NULL if they do.';

CREATE OR REPLACE VIEW study_progress AS
SELECT s.study, s.kind, s.title, s.n_assigned, coalesce(p.n_pages, 0) AS n_answered,
    coalesce(p.n_people, 0) AS n_people, coalesce(x.n_excluded, 0) AS n_excluded, s.n_withdrawn,
    coalesce(p.n_revisions, 0) AS n_revisions, s.pulled_at
FROM study AS s
LEFT JOIN (
    SELECT study, sum(n_items) AS n_pages, count(*) AS n_people, sum(n_revisions) AS n_revisions
    FROM annotator GROUP BY study
) AS p USING (study)
LEFT JOIN (
    SELECT study, count(DISTINCT annotator) AS n_excluded FROM human_exclusion GROUP BY study
) AS x USING (study);

COMMENT ON VIEW study_progress IS 'Progress of each study, as of its last pull.';
COMMENT ON COLUMN study_progress.kind IS 'Subject of the study.';
COMMENT ON COLUMN study_progress.title IS 'Title.';
COMMENT ON COLUMN study_progress.n_assigned IS 'Number of pages that were assigned to people.';
COMMENT ON COLUMN study_progress.n_answered IS 'Number of pages with an answer.';
COMMENT ON COLUMN study_progress.n_people IS 'Number of people with an answer.';
COMMENT ON COLUMN study_progress.n_excluded IS 'Number of people whose answers do not count.';
COMMENT ON COLUMN study_progress.n_withdrawn IS 'Number of people who withdrew.';
COMMENT ON COLUMN study_progress.n_revisions IS 'Number of saved revisions.';
COMMENT ON COLUMN study_progress.pulled_at IS 'When answers were last pulled (UTC).';

CREATE OR REPLACE VIEW judged_language AS
SELECT DISTINCT 'culturall' AS evaluation, item, language FROM culturall_answer
UNION
SELECT evaluation, item, content->>'language' FROM evaluation_item WHERE content->>'language' <> '';

COMMENT ON VIEW judged_language IS 'Language of the items of evaluations that have items in several languages; other items have no row.';
COMMENT ON COLUMN judged_language.item IS 'Item: verdict.item.';
COMMENT ON COLUMN judged_language.language IS 'Language of the item.';

-- Ratings arrive after a run is finished, and a run's rows never change. So these rows are computed when they are read:
-- our readers pass them in a variable to a query that names this view (deployments/show/rectified.py).
CREATE OR REPLACE VIEW rectified AS
SELECT one->>'evaluation' AS evaluation, one->>'config_hash' AS config_hash, one->>'model' AS model, one->>'metric' AS metric,
    one->>'source' AS source, (one->>'value')::DOUBLE AS value, (one->>'ci_low')::DOUBLE AS ci_low,
    (one->>'ci_high')::DOUBLE AS ci_high, (one->>'raw_value')::DOUBLE AS raw_value, (one->>'gap')::DOUBLE AS gap,
    (one->>'null_value')::DOUBLE AS null_value, (one->>'is_beyond_null')::BOOLEAN AS is_beyond_null,
    (one->>'n_labels')::BIGINT AS n_labels, (one->>'n_judged')::BIGINT AS n_judged, (one->>'weight')::DOUBLE AS weight,
    (one->>'correlation')::DOUBLE AS correlation, one->>'pooled' AS pooled, one->>'unscored_reason' AS unscored_reason,
    one->>'ratings' AS ratings, one->>'run_id' AS run_id
FROM (SELECT unnest(getvariable('rectified_means')::VARCHAR[])::JSON AS one);

COMMENT ON VIEW rectified IS 'Means that people would give, estimated from all verdicts of a judge and from people''s ratings of a drawn sample (docs/intervals.md), of the newest runs whose answers people rated. A gap above 0 says that the judge scores higher than people, and the interval holds whatever the judge gets wrong. Computed when it is read, so only by culturemeter sql, Python and the pages; other programs find no rows.';
COMMENT ON COLUMN rectified.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN rectified.metric IS 'Judged headline, metric.metric, with _rectified after it.';
COMMENT ON COLUMN rectified.source IS 'Empty for the model''s own answers, else the null texts, such as shuffled.';
COMMENT ON COLUMN rectified.value IS 'Mean that people would give, estimated from all verdicts and from people''s ratings of a sample.';
COMMENT ON COLUMN rectified.ci_low IS 'Lower end of the 95 % interval; NULL with unscored_reason.';
COMMENT ON COLUMN rectified.ci_high IS 'Upper end of the 95 % interval; NULL with unscored_reason.';
COMMENT ON COLUMN rectified.raw_value IS 'Mean of the judge alone, as on the leaderboard.';
COMMENT ON COLUMN rectified.gap IS 'raw_value less value: above 0, the judge scores higher than people.';
COMMENT ON COLUMN rectified.null_value IS 'Best rectified null; NULL unless people rated all judged null texts'' samples.';
COMMENT ON COLUMN rectified.is_beyond_null IS 'Whether the rectified interval is beyond the rectified null; NULL if either is missing.';
COMMENT ON COLUMN rectified.n_labels IS 'Number of answers that people rated.';
COMMENT ON COLUMN rectified.n_judged IS 'Number of judged answers.';
COMMENT ON COLUMN rectified.weight IS 'Weight of the judge, from 0, people''s ratings alone, to 1.';
COMMENT ON COLUMN rectified.correlation IS 'Correlation of people''s ratings and the judge''s scores within languages; NULL if either does not vary.';
COMMENT ON COLUMN rectified.pooled IS 'Why all languages have one correction; NULL if each has its own.';
COMMENT ON COLUMN rectified.unscored_reason IS 'Why there is no interval, or no number; NULL if there is one.';
COMMENT ON COLUMN rectified.ratings IS 'Hash of the ratings: another rating gives another hash.';
