-- Numbers of rows in the views of all part kinds.
CREATE OR REPLACE VIEW unit_rows AS
{counts};
COMMENT ON VIEW unit_rows IS 'Number of rows that the parts of all kinds show for each registered unit (Parquet).';
COMMENT ON COLUMN unit_rows.kind IS 'Kind of part: part_unit.kind.';
COMMENT ON COLUMN unit_rows.request_hash IS 'Request that this answers: part_unit.request_hash.';
COMMENT ON COLUMN unit_rows.unit IS 'Unit of the request: part_unit.unit.';
COMMENT ON COLUMN unit_rows.part IS 'Part that holds the rows: part_unit.part.';
COMMENT ON COLUMN unit_rows.n_rows IS 'Number of rows that the view of the kind shows.';
