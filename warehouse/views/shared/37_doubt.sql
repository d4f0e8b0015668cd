CREATE OR REPLACE VIEW doubt AS
{doubts};

COMMENT ON VIEW doubt IS 'Why a headline of a model is not shown to be beyond its null, wherever its interval lies: one row a run, headline and reason, of all views <evaluation>_doubt.';
COMMENT ON COLUMN doubt.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN doubt.metric IS 'Headline: metric.metric.';
COMMENT ON COLUMN doubt.reason IS 'Reason not to trust it.';
