-- The view of a part kind. The name of a part comes from its file: it has the hash of the content, so the
-- content cannot have it. Our readers list the registered files in a variable (warehouse/published.py), which
-- other programs lack. The semi-join shows a part's rows only for the units that it is registered for:
-- no orphaned or superseded row appears, and no row appears twice. A part keeps the name that a model had.
CREATE OR REPLACE VIEW "{kind}" AS
SELECT {columns}
FROM (SELECT * REPLACE (parse_filename(filename, true) AS part) FROM read_parquet(
    coalesce(getvariable('parts')['{kind}'], ['{{parts}}/{kind}/*.parquet']),
    hive_partitioning = false{united}
)) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = '{kind}') AS u
    ON p.part = u.part AND p."{unit}" = u.unit AND p.request_hash = u.request_hash
LEFT JOIN renamed_run AS n ON n.run_id = p.run_id AND n.saved = p.model;
