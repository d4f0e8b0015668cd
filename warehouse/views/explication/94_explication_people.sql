CREATE OR REPLACE VIEW explication_people AS
SELECT config_hash,
    row_number() OVER (
        PARTITION BY config_hash
        ORDER BY study, list_position(['persona', 'apr', 'interaction'], dimension),
            list_position(['mean', 'krippendorff_alpha_ordinal', 'order_effect', 'misaligned', 'opposite', 'tied', 'cohen_kappa', 'spearman_models'], metric)
    ) AS place,
    study, dimension, metric, value, unscored_reason, ci_low, ci_high, null_value, n, n_unscored, pulled_at
FROM conversation_validation;

COMMENT ON VIEW explication_people IS 'People''s ratings of a configuration''s conversations, and the rank agreement of its judges with them.';
COMMENT ON COLUMN explication_people.config_hash IS 'Configuration.';
COMMENT ON COLUMN explication_people.place IS 'Order of the rows.';
COMMENT ON COLUMN explication_people.study IS 'Study: study.study.';
COMMENT ON COLUMN explication_people.dimension IS 'persona: how well the simulated user plays the persona. apr and interaction: like the judges'' grades.';
COMMENT ON COLUMN explication_people.metric IS 'See conversation_validation.metric.';
COMMENT ON COLUMN explication_people.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN explication_people.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN explication_people.ci_low IS 'Lower end of the 95 % interval, over personas; NULL if there is none.';
COMMENT ON COLUMN explication_people.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN explication_people.null_value IS 'Score of judges that know nothing; NULL for numbers without judges.';
COMMENT ON COLUMN explication_people.n IS 'Number of points: ratings, conversations, pairs or models.';
COMMENT ON COLUMN explication_people.n_unscored IS 'Number of ratings that could not be used.';
COMMENT ON COLUMN explication_people.pulled_at IS 'When the study was last pulled (UTC).';
