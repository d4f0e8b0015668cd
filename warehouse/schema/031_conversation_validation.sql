-- How far judges of conversations agree with people who rated the same conversations.

CREATE TABLE conversation_validation (
    study VARCHAR,
    config_hash VARCHAR,
    dimension VARCHAR CHECK (dimension IN ('persona', 'apr', 'interaction')),
    metric VARCHAR CHECK (metric IN (
        'mean', 'order_effect', 'krippendorff_alpha_ordinal', 'opposite', 'tied', 'misaligned', 'cohen_kappa', 'spearman_models'
    )),
    value DOUBLE,
    unscored_reason VARCHAR,
    ci_low DOUBLE,
    ci_high DOUBLE,
    null_value DOUBLE,
    n INTEGER NOT NULL CHECK (n >= 0),
    n_unscored INTEGER NOT NULL CHECK (n_unscored >= 0),
    pulled_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, dimension, metric),
    CHECK ((value IS NULL) = (unscored_reason IS NOT NULL)),
    CHECK ((ci_low IS NULL) = (ci_high IS NULL))
);
COMMENT ON TABLE conversation_validation IS 'What people say of conversations of explication and how far its judges order them the same way, as of the last pull of each study.';
COMMENT ON COLUMN conversation_validation.study IS 'Study: study.study.';
COMMENT ON COLUMN conversation_validation.config_hash IS 'Configuration of the runs whose conversations were rated: run.config_hash.';
COMMENT ON COLUMN conversation_validation.dimension IS 'persona: how well the simulated user plays the persona. apr: how well the recommendation suits it. interaction: how well the user was asked.';
COMMENT ON COLUMN conversation_validation.metric IS 'mean: of people''s ratings, 1 to 5. order_effect: of the same conversations, the mean as the first of a page less that as the second. krippendorff_alpha_ordinal: people among themselves. opposite: share of the pairs that one person rated and that both order, which the judges order the other way round; tied: of all pairs, those in which one side sees no difference; misaligned: opposite pairs of all, as the paper counts. cohen_kappa: of the order of pairs. spearman_models: of the models'' means.';
COMMENT ON COLUMN conversation_validation.value IS 'The number; NULL if unscored.';
COMMENT ON COLUMN conversation_validation.unscored_reason IS 'Why there is no number; NULL if there is one.';
COMMENT ON COLUMN conversation_validation.ci_low IS 'Lower end of the 95 % interval, over personas; NULL if there is none.';
COMMENT ON COLUMN conversation_validation.ci_high IS 'Upper end of the 95 % interval; NULL if there is none.';
COMMENT ON COLUMN conversation_validation.null_value IS 'What judges that know nothing would get; NULL where they have no part.';
COMMENT ON COLUMN conversation_validation.n IS 'What the number rests on: ratings, conversations with two raters, pairs, or models.';
COMMENT ON COLUMN conversation_validation.n_unscored IS 'Ratings that could not be used: of conversations without a judge''s grade.';
COMMENT ON COLUMN conversation_validation.pulled_at IS 'When the study was last pulled (UTC).';
