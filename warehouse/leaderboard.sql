CREATE OR REPLACE VIEW leaderboard_{evaluation} AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at,
        any_value(v.value) FILTER (v.metric = '{headline}') AS "{headline}",
        any_value(v.ci_low) FILTER (v.metric = '{headline}') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = '{headline}') AS ci_high,
        any_value(v.null_value) FILTER (v.metric = '{headline}') AS null_value,
{columns}        any_value(v.n_scored) FILTER (v.metric = '{headline}') AS n_scored,
        any_value(v.n_unscored) FILTER (v.metric = '{headline}') AS n_unscored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = '{evaluation}' AND v.slice_kind = 'overall'
    GROUP BY ALL
)
SELECT wide.*, a.is_beyond_null, a.doubt, row_number() OVER (
    PARTITION BY wide.config_hash ORDER BY wide.is_null, wide."{headline}"{order} NULLS LAST, wide.model, wide.run_id
) AS place
FROM wide
LEFT JOIN against_null AS a ON a.run_id = wide.run_id AND a.metric = '{headline}';

COMMENT ON VIEW leaderboard_{evaluation} IS 'Leaderboard of {evaluation}, an evaluation from a recipe: newest finished run of each model and configuration. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_{evaluation}.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN leaderboard_{evaluation}.profile IS 'Run profile that set the parameters.';
COMMENT ON COLUMN leaderboard_{evaluation}.model IS 'Model.';
COMMENT ON COLUMN leaderboard_{evaluation}.is_null IS 'Whether it is a null model.';
COMMENT ON COLUMN leaderboard_{evaluation}.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN leaderboard_{evaluation}.finished_at IS 'When the run ended (UTC).';
COMMENT ON COLUMN leaderboard_{evaluation}.ci_low IS 'Lower end of the 95 % interval of {headline}, over clusters; NULL if there is none.';
COMMENT ON COLUMN leaderboard_{evaluation}.ci_high IS 'Upper end of the 95 % interval of {headline}; NULL if there is none.';
COMMENT ON COLUMN leaderboard_{evaluation}.null_value IS 'Value of a null model as {headline}.';
COMMENT ON COLUMN leaderboard_{evaluation}.n_scored IS 'Items that {headline} rests on.';
COMMENT ON COLUMN leaderboard_{evaluation}.n_unscored IS 'Items that could not be scored.';
COMMENT ON COLUMN leaderboard_{evaluation}.is_beyond_null IS 'Whether the interval lies beyond the null and no doubt applies; NULL for null models, and without an interval or a null.';
COMMENT ON COLUMN leaderboard_{evaluation}.doubt IS 'Reason not to trust it (doubt.reason); NULL if there is none.';
COMMENT ON COLUMN leaderboard_{evaluation}.place IS 'Order of the leaderboard within its configuration, from 1.';
{comments}
