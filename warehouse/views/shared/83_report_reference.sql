CREATE OR REPLACE VIEW report_metric AS
SELECT evaluation, row_number() OVER (PARTITION BY evaluation ORDER BY rowid) AS place, metric, label, unit, range_low,
    range_high, direction, description, null_baseline, unscored_when, source
FROM metric;

COMMENT ON VIEW report_metric IS 'The table metric, in the order of its file.';
COMMENT ON COLUMN report_metric.place IS 'Order in the evaluation, from 1.';
COMMENT ON COLUMN report_metric.metric IS 'Metric: metric.metric.';
COMMENT ON COLUMN report_metric.label IS 'Name to show.';
COMMENT ON COLUMN report_metric.unit IS 'Unit.';
COMMENT ON COLUMN report_metric.range_low IS 'Least possible value; NULL if there is none.';
COMMENT ON COLUMN report_metric.range_high IS 'Greatest possible value; NULL if there is none.';
COMMENT ON COLUMN report_metric.direction IS 'Direction that is better: higher, lower or none.';
COMMENT ON COLUMN report_metric.description IS 'Meaning.';
COMMENT ON COLUMN report_metric.null_baseline IS 'Score of a null model.';
COMMENT ON COLUMN report_metric.unscored_when IS 'When there is no value.';
COMMENT ON COLUMN report_metric.source IS 'Source of its definition.';

CREATE OR REPLACE VIEW report_source AS
SELECT row_number() OVER (ORDER BY file) AS place, file, source, version, licence, retrieved, build, notes
FROM source;

COMMENT ON VIEW report_source IS 'Sources and licences of reference data: the table source, by file.';
COMMENT ON COLUMN report_source.place IS 'Order, from 1.';
COMMENT ON COLUMN report_source.file IS 'Reference file.';
COMMENT ON COLUMN report_source.source IS 'Source of the data.';
COMMENT ON COLUMN report_source.version IS 'Version of the source.';
COMMENT ON COLUMN report_source.licence IS 'Licence of the source.';
COMMENT ON COLUMN report_source.retrieved IS 'Date when it was retrieved.';
COMMENT ON COLUMN report_source.build IS 'Way the file was built.';
COMMENT ON COLUMN report_source.notes IS 'Further notes.';

CREATE OR REPLACE VIEW report_country AS
SELECT row_number() OVER (ORDER BY country) AS place, country, regexp_replace(name, '^the ', '') AS name, region
FROM country;

COMMENT ON VIEW report_country IS 'Names of countries as tables and figures have them.';
COMMENT ON COLUMN report_country.place IS 'Order, from 1: by code.';
COMMENT ON COLUMN report_country.country IS 'Country: country.country.';
COMMENT ON COLUMN report_country.name IS 'Name of the country, without "the".';
COMMENT ON COLUMN report_country.region IS 'UN region of the country.';
