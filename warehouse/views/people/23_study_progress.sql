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
COMMENT ON COLUMN study_progress.study IS 'Study: study.study.';
COMMENT ON COLUMN study_progress.kind IS 'Subject of the study.';
COMMENT ON COLUMN study_progress.title IS 'Title.';
COMMENT ON COLUMN study_progress.n_assigned IS 'Number of pages that were assigned to people.';
COMMENT ON COLUMN study_progress.n_answered IS 'Number of pages with an answer.';
COMMENT ON COLUMN study_progress.n_people IS 'Number of people with an answer.';
COMMENT ON COLUMN study_progress.n_excluded IS 'Number of people whose answers do not count.';
COMMENT ON COLUMN study_progress.n_withdrawn IS 'Number of people who withdrew.';
COMMENT ON COLUMN study_progress.n_revisions IS 'Number of saved revisions.';
COMMENT ON COLUMN study_progress.pulled_at IS 'When answers were last pulled (UTC).';
