-- Every model on every headline number
SELECT evaluation, label, model, value, ci_low, ci_high, null_value, n_scored, n_unscored, is_beyond_null
FROM model_scores
ORDER BY evaluation, label, value DESC
