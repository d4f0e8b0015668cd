CREATE OR REPLACE VIEW leaderboard_spectral AS
WITH wide AS (
    SELECT config_hash, profile, model, is_null,
        any_value(value) FILTER (metric = 'macro_f1') AS macro_f1,
        any_value(ci_low) FILTER (metric = 'macro_f1') AS ci_low,
        any_value(ci_high) FILTER (metric = 'macro_f1') AS ci_high,
        any_value(ci_low) FILTER (metric = 'macro_f1_with_people') AS with_people_low,
        any_value(ci_high) FILTER (metric = 'macro_f1_with_people') AS with_people_high,
        any_value(null_value) FILTER (metric = 'macro_f1') AS null_macro_f1,
        any_value(n_scored) FILTER (metric = 'macro_f1') AS n_scored,
        any_value(n_unscored) FILTER (metric = 'macro_f1') AS n_unscored,
        any_value(value) FILTER (metric = 'f1_LH') AS f1_lh,
        any_value(value) FILTER (metric = 'f1_HL') AS f1_hl,
        any_value(value) FILTER (metric = 'f1_HH') AS f1_hh,
        any_value(value) FILTER (metric = 'f1_LL') AS f1_ll,
        any_value(value) FILTER (metric = 'rank_spearman') AS rank_spearman,
        any_value(value) FILTER (metric = 'rank_kendall') AS rank_kendall,
        any_value(value) FILTER (metric = 'er_sr_correlation') AS er_sr_correlation,
        any_value(value) FILTER (metric = 'reference_mass') AS reference_mass,
        any_value(n_scored / nullif(n_scored + n_unscored, 0)) FILTER (metric = 'macro_f1') AS coverage,
        run_id, finished_at
    FROM leaderboard
    WHERE evaluation = 'spectral'
    GROUP BY config_hash, profile, model, is_null, run_id, finished_at
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY is_null, macro_f1 DESC NULLS LAST, model) AS place,
    * EXCLUDE (config_hash)
FROM wide
ORDER BY max(finished_at) OVER (PARTITION BY config_hash) DESC, config_hash, place;

COMMENT ON VIEW leaderboard_spectral IS 'One row per configuration and model: newest configuration first; within each, models by macro-F1, then null models. Compare within one config_hash only; an interval above null_macro_f1 is not enough to distinguish a model from guessing (against_null).';
COMMENT ON COLUMN leaderboard_spectral.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN leaderboard_spectral.place IS 'Order in the configuration, from 1: models by macro-F1, then null models.';
COMMENT ON COLUMN leaderboard_spectral.profile IS 'Run profile that set the parameters.';
COMMENT ON COLUMN leaderboard_spectral.model IS 'Model.';
COMMENT ON COLUMN leaderboard_spectral.is_null IS 'Whether the row is of a null model.';
COMMENT ON COLUMN leaderboard_spectral.macro_f1 IS 'Mean F1 of the model''s ER-SR categories against people''s, 0 to 1; NULL if unscored.';
COMMENT ON COLUMN leaderboard_spectral.ci_low IS 'Lower end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN leaderboard_spectral.ci_high IS 'Upper end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN leaderboard_spectral.with_people_low IS 'Lower end of the 95 % interval of macro_f1 that also covers the choice of the people whose ranks give the categories; NULL for older runs, and if the spread of their ranks is unknown.';
COMMENT ON COLUMN leaderboard_spectral.with_people_high IS 'Upper end of that interval.';
COMMENT ON COLUMN leaderboard_spectral.null_macro_f1 IS 'Expected macro_f1 of guessing one random category per domain.';
COMMENT ON COLUMN leaderboard_spectral.n_scored IS 'Number of questions from which macro_f1 is computed.';
COMMENT ON COLUMN leaderboard_spectral.n_unscored IS 'Number of questions that could not be scored.';
COMMENT ON COLUMN leaderboard_spectral.f1_lh IS 'F1 of the category low ER, high SR.';
COMMENT ON COLUMN leaderboard_spectral.f1_hl IS 'F1 of the category high ER, low SR.';
COMMENT ON COLUMN leaderboard_spectral.f1_hh IS 'F1 of the category high ER, high SR.';
COMMENT ON COLUMN leaderboard_spectral.f1_ll IS 'F1 of the category low ER, low SR.';
COMMENT ON COLUMN leaderboard_spectral.rank_spearman IS 'Spearman''s rho between the model''s and people''s order of domains.';
COMMENT ON COLUMN leaderboard_spectral.rank_kendall IS 'Kendall''s tau-b between the model''s and people''s order of domains.';
COMMENT ON COLUMN leaderboard_spectral.er_sr_correlation IS 'Correlation of ER and SR over questions; -1 is ideal.';
COMMENT ON COLUMN leaderboard_spectral.reference_mass IS 'Mean probability of the items that the reference has for the country.';
COMMENT ON COLUMN leaderboard_spectral.coverage IS 'Share of the questions that could be scored for macro_f1, 0 to 1.';
COMMENT ON COLUMN leaderboard_spectral.run_id IS 'Run: run.run_id.';
COMMENT ON COLUMN leaderboard_spectral.finished_at IS 'When the run ended (UTC).';
