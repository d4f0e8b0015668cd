CREATE OR REPLACE VIEW worldwise_scenario AS
SELECT row_number() OVER (ORDER BY rowid) AS place, scenario, dimension, category, region
FROM scenario;

COMMENT ON VIEW worldwise_scenario IS 'What each scenario is about, in the order of the reference data.';
COMMENT ON COLUMN worldwise_scenario.place IS 'Order, from 1.';
COMMENT ON COLUMN worldwise_scenario.scenario IS 'Scenario: scenario.scenario.';
COMMENT ON COLUMN worldwise_scenario.dimension IS 'Its primary dimension: dimension.dimension.';
COMMENT ON COLUMN worldwise_scenario.category IS 'What it is about, such as work or family.';
COMMENT ON COLUMN worldwise_scenario.region IS 'Where it is set; none: nowhere in particular.';
