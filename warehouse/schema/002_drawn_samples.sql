-- The chance with which an item was drawn, so that a judge's mean can be rectified by people's ratings.

ALTER TABLE study_item ADD COLUMN chance DOUBLE;
ALTER TABLE study_item ADD COLUMN population VARCHAR;
COMMENT ON COLUMN study_item.chance IS 'Chance with which the item was drawn from its stratum, above 0 and at most 1; NULL if it was not drawn at random.';
COMMENT ON COLUMN study_item.population IS 'Hash of all answers of the stratum that the item was drawn from; NULL if it was not drawn at random.';
