-- The view of a part kind. The name of a part is that of its file, because its hash, of which it is a part,
-- cannot be in the file. Our readers list the registered files in a variable (warehouse/published.py), which
-- other programs do not have. The semi-join shows a part's rows only for the units that it is registered for:
-- orphaned and superseded rows never show, and no row shows twice.
CREATE OR REPLACE VIEW "{kind}" AS
SELECT {columns}
FROM (SELECT * {changes} FROM read_parquet(
    coalesce(getvariable('parts')['{kind}'], ['{{parts}}/{kind}/*.parquet']),
    hive_partitioning = false{united}
)) AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = '{kind}') AS u
    ON p.part = u.part AND p."{unit}" = u.unit AND p.request_hash = u.request_hash;
