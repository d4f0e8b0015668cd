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
COMMENT ON COLUMN human_rating.study IS 'Study: study.study.';
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
