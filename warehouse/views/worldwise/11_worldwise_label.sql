-- Every configuration has the shipped names; those of a pack are in configurations run with it. The key of a shipped
-- dimension may begin with its framework, because two frameworks may share a name. A pack's dimension has a label
-- made from its key.
CREATE OR REPLACE VIEW worldwise_label AS
WITH configuration AS (
    SELECT DISTINCT config_hash FROM run WHERE evaluation = 'worldwise'
), shipped AS (
    SELECT 1 AS kind_place, rowid AS line, 'value' AS kind, value AS key, label FROM guiding_value
    UNION ALL
    SELECT 2, rowid, 'dimension', dimension, label FROM dimension
    UNION ALL
    SELECT 3, rowid, 'dimension', framework || '_' || dimension, label FROM dimension
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'worldwise'
), added AS (
    SELECT config_hash, 1 AS kind_place, 'value' AS kind, content->>'value' AS key, content->>'label' AS label,
        min(position) AS line
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'guiding_value'
    GROUP BY ALL
    UNION ALL
    SELECT config_hash, 2, 'dimension', content->>'dimension' AS key,
        upper(left(key, 1)) || replace(substr(key, 2), '_', ' '), min(position)
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'exemplar'
    GROUP BY ALL
), named AS (
    SELECT config_hash, kind_place, 0 AS is_added, line, kind, key, label FROM configuration CROSS JOIN shipped
    UNION ALL
    SELECT config_hash, kind_place, 1, line, kind, key, label FROM added
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY kind_place, is_added, line, key) AS place, kind, key, label
FROM named;

COMMENT ON VIEW worldwise_label IS 'Names of the values and dimensions of each configuration: the shipped ones and those of its packs.';
COMMENT ON COLUMN worldwise_label.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN worldwise_label.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN worldwise_label.kind IS 'value or dimension.';
COMMENT ON COLUMN worldwise_label.key IS 'guiding_value.value; dimension.dimension, with or without its framework before it; or one of a pack.';
COMMENT ON COLUMN worldwise_label.label IS 'Name to show.';
