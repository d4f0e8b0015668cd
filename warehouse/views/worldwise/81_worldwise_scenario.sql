-- Scenarios of a user's own file are left out: their names may equal those of others.
CREATE OR REPLACE VIEW worldwise_scenario AS
WITH asked AS (
    SELECT DISTINCT r.config_hash, v.slice AS scenario
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'worldwise' AND v.slice_kind = 'scenario' AND (r.params->>'scenarios_file') IS NULL
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'worldwise'
), known AS (
    SELECT NULL AS config_hash, rowid AS line, scenario, dimension, category, region FROM scenario
    UNION ALL
    SELECT of_pack.config_hash, position, content->>'scenario', content->>'dimension', content->>'category',
        coalesce(nullif(content->>'region', ''), 'none')
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'scenario'
)
SELECT a.config_hash,
    row_number() OVER (
        PARTITION BY a.config_hash ORDER BY k.config_hash IS NOT NULL, k.line, scenario
    ) AS place,
    scenario, k.dimension, k.category, k.region
FROM asked AS a
JOIN known AS k USING (scenario)
WHERE k.config_hash IS NULL OR k.config_hash = a.config_hash;

COMMENT ON VIEW worldwise_scenario IS 'Subject of each scenario of a configuration: its shipped scenarios and those of its packs.';
COMMENT ON COLUMN worldwise_scenario.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN worldwise_scenario.place IS 'Order in the configuration, from 1: shipped ones, then those of packs.';
COMMENT ON COLUMN worldwise_scenario.scenario IS 'Scenario: scenario.scenario, or one of a pack.';
COMMENT ON COLUMN worldwise_scenario.dimension IS 'Primary dimension of the scenario: dimension.dimension, or one of a pack.';
COMMENT ON COLUMN worldwise_scenario.category IS 'Subject, such as work or family.';
COMMENT ON COLUMN worldwise_scenario.region IS 'Region where it is set; none: nowhere in particular.';
