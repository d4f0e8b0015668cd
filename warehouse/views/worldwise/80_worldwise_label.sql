-- A dimension may be named with its framework, where two frameworks have one of that name.
CREATE OR REPLACE VIEW worldwise_label AS
WITH named AS (
    SELECT 1 AS kind_place, rowid AS line, 'value' AS kind, value AS key, label FROM guiding_value
    UNION ALL
    SELECT 2, rowid, 'dimension', dimension, label FROM dimension
    UNION ALL
    SELECT 3, rowid, 'dimension', framework || '_' || dimension, label FROM dimension
)
SELECT row_number() OVER (ORDER BY kind_place, line) AS place, kind, key, label
FROM named;

COMMENT ON VIEW worldwise_label IS 'Names of values and dimensions, in the order of the reference data.';
COMMENT ON COLUMN worldwise_label.place IS 'Order, from 1.';
COMMENT ON COLUMN worldwise_label.kind IS 'value or dimension.';
COMMENT ON COLUMN worldwise_label.key IS 'guiding_value.value, dimension.dimension, or that with its framework before it.';
COMMENT ON COLUMN worldwise_label.label IS 'Name to show.';
