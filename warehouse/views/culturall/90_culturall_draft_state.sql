CREATE OR REPLACE VIEW culturall_draft_state AS
WITH measured AS (
    -- A solver that was judged in several ways counts once, as last measured.
    SELECT draft, count(*) AS n_models, count(*) FILTER (is_right) AS n_right
    FROM (
        SELECT draft, is_right FROM culturall_measure
        WHERE is_right IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY draft, engine_hash ORDER BY measured_at DESC, judges DESC) = 1
    )
    GROUP BY draft
), replaced AS (
    SELECT DISTINCT child.parent AS draft
    FROM culturall_draft AS child
    LEFT JOIN culturall_review AS r ON r.draft = child.draft AND r.stage = 'elevate'
    WHERE len(child.faults) = 0 AND (child.origin = 'revision' OR r.decision IN ('accept', 'revise'))
), checked AS (
    SELECT draft, bool_or(reason <> '' AND NOT is_doubt) AS has_fault, bool_or(reason = 'too_easy') AS is_too_easy
    FROM culturall_check
    GROUP BY draft
)
SELECT d.draft, d.language, d.origin, coalesce(m.n_models, 0) AS n_models, coalesce(m.n_right, 0) AS n_right,
    3 * m.n_right <= m.n_models AS is_hard,
    coalesce(own.decision, revised.decision) AS decision,
    coalesce(own.reviewer, revised.reviewer) AS reviewer,
    CASE
        WHEN len(d.faults) > 0 THEN 'rejected_by_checks'
        WHEN d.origin = 'elevation' AND e.decision = 'reject' THEN 'elevation_rejected'
        WHEN replaced.draft IS NOT NULL THEN 'replaced'
        WHEN d.origin = 'elevation' AND e.decision IS NULL THEN 'elevation_waits'
        WHEN own.decision = 'reject' THEN 'rejected'
        WHEN c.is_too_easy THEN 'too_easy'
        WHEN c.has_fault THEN 'rejected_by_checks'
        WHEN own.decision = 'accept' THEN 'accepted'
        WHEN revised.decision = 'revise' THEN 'revised'
        WHEN c.draft IS NOT NULL THEN 'review_waits'
        ELSE 'drafted'
    END AS status
FROM culturall_draft AS d
LEFT JOIN measured AS m USING (draft)
LEFT JOIN replaced USING (draft)
LEFT JOIN checked AS c USING (draft)
LEFT JOIN culturall_review AS e ON e.draft = d.draft AND e.stage = 'elevate'
LEFT JOIN culturall_review AS own ON own.draft = d.draft AND own.stage = 'release'
LEFT JOIN culturall_review AS revised
    ON revised.draft = d.parent AND revised.stage = 'release' AND d.origin = 'revision';

COMMENT ON VIEW culturall_draft_state IS 'Status of each draft of a build, computed from the other tables.';
COMMENT ON COLUMN culturall_draft_state.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft_state.language IS 'Declared language.';
COMMENT ON COLUMN culturall_draft_state.origin IS 'culturall_draft.origin.';
COMMENT ON COLUMN culturall_draft_state.n_models IS 'Number of models whose answer to the draft could be scored.';
COMMENT ON COLUMN culturall_draft_state.n_right IS 'Number of models that solve the draft.';
COMMENT ON COLUMN culturall_draft_state.is_hard IS 'Whether at most a third of the models solve the draft; NULL if no answer was scored.';
COMMENT ON COLUMN culturall_draft_state.decision IS 'Reviewer''s decision on the release; NULL before a review.';
COMMENT ON COLUMN culturall_draft_state.reviewer IS 'Reviewer who decided.';
COMMENT ON COLUMN culturall_draft_state.status IS 'rejected_by_checks. elevation_waits, elevation_rejected: a harder version that people have not decided on, or have rejected. replaced: by an accepted harder version or by a revision. too_easy: left out by the rule of the last release. drafted: not yet checked for a release. review_waits: checked, not yet reviewed. accepted, revised, rejected: by a reviewer.';
