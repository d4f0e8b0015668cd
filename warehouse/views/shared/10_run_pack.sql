CREATE OR REPLACE VIEW run_pack AS
WITH named AS (
    SELECT run_id, evaluation, config_hash, unnest(json_extract_string(params, '$.pack[*]')) AS pinned FROM run
)
SELECT run_id, evaluation, config_hash, split_part(pinned, '@', 1) AS pack, split_part(pinned, '@', 2) AS pack_hash
FROM named;

COMMENT ON VIEW run_pack IS 'Packs that each run used: one row per run and pack.';
COMMENT ON COLUMN run_pack.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN run_pack.pack IS 'Name of the pack in that run.';
COMMENT ON COLUMN run_pack.pack_hash IS 'Content that was used: pack.pack_hash.';
