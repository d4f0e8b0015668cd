-- Under which setting a published number is defined as ours is.

ALTER TABLE published_metric ADD COLUMN setting VARCHAR;
COMMENT ON COLUMN published_metric.setting IS 'Knob and value, such as pooling=mean_probability, that a run needs for the definition to be equal; under another it is near. NULL: whatever the knobs.';
