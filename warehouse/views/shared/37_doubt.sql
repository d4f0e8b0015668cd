CREATE OR REPLACE VIEW doubt AS
{doubts};

COMMENT ON VIEW doubt IS 'Reasons not to trust a headline that beats its null: one row per run, headline and reason, from all views <evaluation>_doubt.';
COMMENT ON COLUMN doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN doubt.reason IS 'Reason not to trust the headline.';
