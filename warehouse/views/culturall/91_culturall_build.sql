CREATE OR REPLACE VIEW culturall_build AS
WITH reasons AS (
    SELECT draft, unnest(list_distinct(faults)) AS reason FROM culturall_draft
    UNION
    SELECT draft, reason FROM culturall_check WHERE reason <> ''
)
SELECT s.status, NULL AS reason, count(*) AS n_drafts FROM culturall_draft_state AS s GROUP BY s.status
UNION ALL
SELECT s.status, r.reason, count(*) AS n_drafts
FROM culturall_draft_state AS s JOIN reasons AS r USING (draft)
GROUP BY s.status, r.reason
ORDER BY status, reason NULLS FIRST;

COMMENT ON VIEW culturall_build IS 'Number of drafts of a build, by status and by fault or doubt.';
COMMENT ON COLUMN culturall_build.status IS 'See culturall_draft_state.status.';
COMMENT ON COLUMN culturall_build.reason IS 'Fault or doubt; NULL: all drafts of that status. A draft may have several.';
COMMENT ON COLUMN culturall_build.n_drafts IS 'Number of drafts.';
