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
COMMENT ON COLUMN annotator.study IS 'Study: study.study.';
COMMENT ON COLUMN annotator.annotator IS 'Person, by code.';
COMMENT ON COLUMN annotator.n_items IS 'Number of pages with an answer.';
COMMENT ON COLUMN annotator.n_fields IS 'Number of fields with an answer.';
COMMENT ON COLUMN annotator.n_revisions IS 'Number of saved revisions of all fields.';
COMMENT ON COLUMN annotator.started_at IS 'When the first page was opened (UTC).';
COMMENT ON COLUMN annotator.saved_at IS 'When the last answer was saved (UTC).';
COMMENT ON COLUMN annotator.excluded IS 'Why the answers do not count; NULL if they do.';
