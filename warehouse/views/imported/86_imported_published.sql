CREATE OR REPLACE VIEW imported_published AS
SELECT row_number() OVER (ORDER BY slice, model, source) AS place, slice_kind, slice, model, value, source, difference, note
FROM recipe_published
WHERE evaluation = 'imported';

COMMENT ON VIEW imported_published IS 'Numbers of imported logs that have no samples. Nothing ranks them.';
COMMENT ON COLUMN imported_published.place IS 'Order, from 1.';
COMMENT ON COLUMN imported_published.slice_kind IS 'task.';
COMMENT ON COLUMN imported_published.slice IS 'Task.';
COMMENT ON COLUMN imported_published.model IS 'Model, as the log names it.';
COMMENT ON COLUMN imported_published.value IS 'The number.';
COMMENT ON COLUMN imported_published.source IS 'Program, version and date of the log.';
COMMENT ON COLUMN imported_published.difference IS 'The log''s metric.';
COMMENT ON COLUMN imported_published.note IS 'Its standard error, if the log states one.';
