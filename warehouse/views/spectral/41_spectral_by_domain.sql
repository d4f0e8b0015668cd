CREATE OR REPLACE VIEW spectral_by_domain AS
WITH wide AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, v.slice AS question,
        any_value(v.value) FILTER (v.metric = 'effective_rank') AS effective_rank,
        any_value(v.ci_low) FILTER (v.metric = 'effective_rank') AS er_ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'effective_rank') AS er_ci_high,
        any_value(v.value) FILTER (v.metric = 'spectral_gap_ratio') AS spectral_gap_ratio,
        any_value(v.ci_low) FILTER (v.metric = 'spectral_gap_ratio') AS sr_ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'spectral_gap_ratio') AS sr_ci_high,
        any_value(v.value) FILTER (v.metric = 'top_item_share') AS top_item_share,
        any_value(if(v.value = 1, 'H', 'L')) FILTER (v.metric = 'er_high' AND v.value IS NOT NULL)
            || any_value(if(v.value = 1, 'H', 'L')) FILTER (v.metric = 'sr_high' AND v.value IS NOT NULL)
            AS er_sr_category
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND v.slice_kind = 'question'
    GROUP BY ALL
)
SELECT w.config_hash,
    row_number() OVER (
        PARTITION BY w.config_hash ORDER BY w.is_null, w.model, e.human_score, q.domain, q.variant
    ) AS place,
    w.model, w.is_null, q.domain, q.label, w.question, q.variant, q.template, w.effective_rank, w.er_ci_low, w.er_ci_high,
    w.spectral_gap_ratio, w.sr_ci_low, w.sr_ci_high, w.top_item_share, w.er_sr_category, e.human_category, e.human_score,
    w.er_sr_category = e.human_category AS correct, w.run_id
FROM wide AS w
JOIN spectral_question AS q ON q.config_hash = w.config_hash AND q.question = w.question
JOIN spectral_expected AS e ON e.config_hash = w.config_hash AND e.domain = q.domain
ORDER BY w.config_hash, place;

COMMENT ON VIEW spectral_by_domain IS 'Spectrum and category of every question, and the category that people expect; newest finished run of each configuration and model.';
COMMENT ON COLUMN spectral_by_domain.config_hash IS 'Models may be compared if this is equal.';
COMMENT ON COLUMN spectral_by_domain.place IS 'Order in the configuration, from 1: models, then null models; within each model, domains from common to unique by people''s ranking.';
COMMENT ON COLUMN spectral_by_domain.model IS 'Model.';
COMMENT ON COLUMN spectral_by_domain.is_null IS 'Whether the row is of a null model.';
COMMENT ON COLUMN spectral_by_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_by_domain.label IS 'Name of the domain: domain.label.';
COMMENT ON COLUMN spectral_by_domain.question IS 'Question: question.question.';
COMMENT ON COLUMN spectral_by_domain.variant IS 'Number of the wording in the domain, from 1: question.variant.';
COMMENT ON COLUMN spectral_by_domain.template IS 'The question''s text: question.template.';
COMMENT ON COLUMN spectral_by_domain.effective_rank IS 'Effective rank (ER): number of equally strong patterns; NULL if unscored.';
COMMENT ON COLUMN spectral_by_domain.er_ci_low IS 'Lower end of the 95 % interval of effective_rank.';
COMMENT ON COLUMN spectral_by_domain.er_ci_high IS 'Upper end of the 95 % interval of effective_rank.';
COMMENT ON COLUMN spectral_by_domain.spectral_gap_ratio IS 'Spectral gap ratio (SR): first over second eigenvalue; NULL if unscored.';
COMMENT ON COLUMN spectral_by_domain.sr_ci_low IS 'Lower end of the 95 % interval of spectral_gap_ratio.';
COMMENT ON COLUMN spectral_by_domain.sr_ci_high IS 'Upper end of the 95 % interval of spectral_gap_ratio.';
COMMENT ON COLUMN spectral_by_domain.top_item_share IS 'Mean probability of the item that leads on average over the countries: near 1, ER is near 1 and SR is huge whatever else the model knows. NULL for older runs.';
COMMENT ON COLUMN spectral_by_domain.er_sr_category IS 'Category of the model: H or L for the metric er_high, then for sr_high; NULL if either is unscored.';
COMMENT ON COLUMN spectral_by_domain.human_category IS 'Category that people expect.';
COMMENT ON COLUMN spectral_by_domain.human_score IS 'Mean rank that people gave the domain; low means common across countries.';
COMMENT ON COLUMN spectral_by_domain.correct IS 'Whether the two categories are equal; NULL if unscored.';
COMMENT ON COLUMN spectral_by_domain.run_id IS 'Run: run.run_id.';
