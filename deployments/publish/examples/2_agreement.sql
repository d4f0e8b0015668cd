-- Do evaluations rank models in the same order?
SELECT evaluation, label, other_evaluation, other_label, n_models, rho, ci_low, ci_high, least_rho
FROM evaluation_agreement
ORDER BY abs(rho) DESC NULLS LAST
