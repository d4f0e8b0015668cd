-- Every configuration has the shipped domains; those of a pack are in configurations that were run with it.
CREATE OR REPLACE VIEW spectral_question AS
WITH configuration AS (
    SELECT DISTINCT config_hash FROM run WHERE evaluation = 'spectral'
), of_pack AS (
    SELECT DISTINCT config_hash, pack_hash FROM run_pack WHERE evaluation = 'spectral'
), pack_domain AS (
    SELECT config_hash, content->>'domain' AS domain, content->>'label' AS label,
        coalesce(content->>'human_question', '') AS human_question, (content->>'human_score')::DOUBLE AS human_score,
        coalesce((content->>'human_sd')::DOUBLE, 0) AS human_sd, content->>'human_category' AS human_category
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'domain'
), pack_question AS (
    SELECT config_hash, content->>'domain' AS domain, (content->>'variant')::INTEGER AS variant,
        content->>'template' AS template
    FROM of_pack
    JOIN pack_row USING (pack_hash)
    WHERE file = 'question'
)
SELECT c.config_hash, q.question, domain, q.variant, q.template, d.label, d.human_question, d.human_score, d.human_sd,
    d.human_category
FROM configuration AS c
CROSS JOIN question AS q
JOIN domain AS d USING (domain)
UNION ALL
SELECT config_hash, q.domain || '-' || q.variant, domain, q.variant, q.template, d.label, d.human_question,
    d.human_score, d.human_sd, d.human_category
FROM pack_domain AS d
JOIN pack_question AS q USING (config_hash, domain);

COMMENT ON VIEW spectral_question IS 'Questions and domains of each configuration: the shipped ones and those of its packs.';
COMMENT ON COLUMN spectral_question.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN spectral_question.question IS 'Identifier: domain, hyphen, variant.';
COMMENT ON COLUMN spectral_question.domain IS 'Domain: domain.domain, or one of a pack.';
COMMENT ON COLUMN spectral_question.variant IS 'Number of the wording within its domain, from 1.';
COMMENT ON COLUMN spectral_question.template IS 'Text of the question; {country} stands for country.name.';
COMMENT ON COLUMN spectral_question.label IS 'Name of the domain for display.';
COMMENT ON COLUMN spectral_question.human_question IS 'Subject that people ranked.';
COMMENT ON COLUMN spectral_question.human_score IS 'Mean rank that people gave, 1 to 9; low means common across countries.';
COMMENT ON COLUMN spectral_question.human_sd IS 'Standard deviation of those ranks.';
COMMENT ON COLUMN spectral_question.human_category IS 'Expected category: effective rank, then spectral gap ratio, each High or Low.';

CREATE OR REPLACE VIEW country_neighbour AS
WITH both_ways AS (
    SELECT run_id, model, domain, country_a AS country, country_b AS neighbour, similarity FROM country_similarity
    UNION ALL
    SELECT run_id, model, domain, country_b, country_a, similarity FROM country_similarity
)
SELECT run_id, model, domain, country,
    row_number() OVER (PARTITION BY run_id, model, domain, country ORDER BY similarity DESC, neighbour) AS rank,
    neighbour, similarity
FROM both_ways
QUALIFY rank <= 5;

COMMENT ON VIEW country_neighbour IS 'The five countries with the most similar answers of a model, for each country.';
COMMENT ON COLUMN country_neighbour.run_id IS 'Run that computed it: run.run_id.';
COMMENT ON COLUMN country_neighbour.model IS 'Model that answered.';
COMMENT ON COLUMN country_neighbour.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN country_neighbour.country IS 'Country: country.country.';
COMMENT ON COLUMN country_neighbour.rank IS 'Rank, from 1 (most similar) to 5; ties in the order of country codes.';
COMMENT ON COLUMN country_neighbour.neighbour IS 'The similar country: country.country.';
COMMENT ON COLUMN country_neighbour.similarity IS 'Cosine of the two distributions over items.';

-- A run that names a study of people is compared with that study's snapshot, any other with table 1 and its packs.
CREATE OR REPLACE VIEW spectral_expected AS
WITH configuration AS (
    SELECT config_hash, any_value(json_extract_string(params, '$.human')) AS human
    FROM run WHERE evaluation = 'spectral' GROUP BY config_hash
)
SELECT config_hash, d.domain, c.human,
    if(c.human IS NULL, d.human_score, h.human_score) AS human_score,
    if(c.human IS NULL, d.human_sd, h.human_sd) AS human_sd,
    if(c.human IS NULL, d.human_category, h.human_category) AS human_category,
    -- Section 3.2 of the paper.
    if(c.human IS NULL, if(p.domain IS NULL, NULL, 80), h.n_people) AS human_n
FROM configuration AS c
JOIN (
    SELECT DISTINCT config_hash, domain, human_score, human_sd, human_category FROM spectral_question
) AS d USING (config_hash)
LEFT JOIN domain AS p ON p.domain = d.domain
LEFT JOIN human_domain AS h ON h.study || ':' || h.snapshot = c.human AND h.domain = d.domain;

COMMENT ON VIEW spectral_expected IS 'Category and rank that people expect of each domain, from the ground truth of each configuration.';
COMMENT ON COLUMN spectral_expected.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN spectral_expected.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_expected.human IS 'Study and snapshot of the people who ranked, joined by a colon (human_domain); NULL: table 1 of the paper.';
COMMENT ON COLUMN spectral_expected.human_score IS 'Mean rank; low means common across countries.';
COMMENT ON COLUMN spectral_expected.human_sd IS 'Standard deviation of the ranks.';
COMMENT ON COLUMN spectral_expected.human_category IS 'Category that people expect.';
COMMENT ON COLUMN spectral_expected.human_n IS 'Number of people who ranked; NULL for a domain of a pack, whose author set the expectation.';

-- With few domains a null model scores high: a random category for each of nine reaches 0.54 in 2.5 % of draws,
-- and a random order of them 0.7. Intervals of models are over countries and do not cover that.
CREATE OR REPLACE VIEW spectral_doubt AS
WITH own AS (
    SELECT v.run_id, r.config_hash, v.metric, v.value
    FROM run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND NOT r.is_null AND v.slice_kind = 'overall' AND v.value IS NOT NULL
), guessing AS (
    SELECT n.config_hash, n.model, v.value, coalesce(v.ci_high, v.value) AS highest
    FROM latest_run AS n
    JOIN metric_value AS v USING (run_id)
    WHERE n.evaluation = 'spectral' AND n.is_null AND n.model IN ('null:uniform-by-domain', 'null:always-LH')
        AND v.metric = 'macro_f1' AND v.slice_kind = 'overall'
), ordered AS (
    SELECT run_id, min(n_scored) AS n_domains
    FROM metric_value
    WHERE metric = 'rank_spearman' AND slice_kind = 'variant' AND value IS NOT NULL
    GROUP BY run_id
)
SELECT own.run_id, metric,
    format('its medians are those of a cohort of one model ({}), which moved macro-F1 by 0.07 to 0.18 in simulations',
        any_value(m.model)) AS reason
FROM own
JOIN cohort AS c ON c.config_hash = own.config_hash
JOIN run AS m ON m.run_id = c.run_id AND NOT m.is_null
WHERE metric = 'macro_f1'
GROUP BY own.run_id, metric
HAVING count(*) = 1
UNION ALL
SELECT run_id, metric,
    if(g.value >= own.value, format('{} scores {:.2f}, the model {:.2f}', g.model, g.value, own.value),
        format('{} reaches {:.2f} in 2.5 % of its draws, the model {:.2f}', g.model, g.highest, own.value)) AS reason
FROM own
JOIN guessing AS g USING (config_hash)
WHERE metric = 'macro_f1' AND g.highest >= own.value
UNION ALL
SELECT run_id, metric,
    coalesce(format('a random order of {} domains reaches {:.2f} in 2.5 % of cases', n_domains, least_rho(n_domains)),
        format('no order of {} domains can be told from a random one', n_domains))
FROM own
JOIN ordered USING (run_id)
WHERE metric = 'rank_spearman' AND NOT coalesce(own.value > least_rho(n_domains) - 1e-9, false)
UNION ALL
SELECT run_id, metric, 'questions and names in other languages were not checked by speakers'
FROM own
WHERE metric = 'language_agreement'
UNION ALL
SELECT own.run_id, metric, 'questions and names were not checked by speakers of the language'
FROM own
JOIN run USING (run_id)
WHERE metric = 'macro_f1' AND len((run.params->'languages')::VARCHAR[]) > 0
    AND NOT list_contains((run.params->'languages')::VARCHAR[], 'en')
UNION ALL
SELECT own.run_id, own.metric, format('shuffled countries agree as much in {:.2g} of cases', v.value)
FROM own
JOIN metric_value AS v ON v.run_id = own.run_id AND v.metric = 'language_agreement_p' AND v.slice_kind = 'overall'
WHERE own.metric = 'language_agreement' AND v.value > 0.05;

COMMENT ON VIEW spectral_doubt IS 'Rows that spectral adds to the view doubt: models whose macro-F1 random categories also reach or one model alone decides, whose rank agreement random orders also reach, or whose languages were not checked by speakers.';
COMMENT ON COLUMN spectral_doubt.metric IS 'Headline: metric.metric.';

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
COMMENT ON COLUMN leaderboard_spectral.place IS 'Order in the configuration, from 1: models by macro-F1, then null models.';
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
COMMENT ON COLUMN spectral_by_domain.place IS 'Order in the configuration, from 1: models, then null models; within each model, domains from common to unique by people''s ranking.';
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

-- The same weights, countries and items both ways: only then do the numbers differ by the way alone.
CREATE OR REPLACE VIEW spectral_calibration AS
WITH both_ways AS (
    SELECT r.config_hash, r.model, r.model_hash, r.run_id, run.item_lists, coalesce(run.params->>'elicit', '') IN ('sampling', 'constrained') AS is_sampled,
        run.params->'countries' AS countries, (run.params->>'draws')::INTEGER AS draws
    FROM latest_run AS r
    JOIN run USING (run_id)
    WHERE r.evaluation = 'spectral' AND NOT r.is_null
), spectrum AS (
    SELECT run_id, slice AS question, any_value(value) FILTER (metric = 'effective_rank') AS er,
        any_value(value) FILTER (metric = 'spectral_gap_ratio') AS sr
    FROM metric_value
    WHERE slice_kind = 'question' AND metric IN ('effective_rank', 'spectral_gap_ratio')
    GROUP BY run_id, slice
), scored AS (
    SELECT * FROM both_ways WHERE NOT is_sampled
    QUALIFY row_number() OVER (PARTITION BY model_hash, item_lists, countries ORDER BY config_hash) = 1
)
SELECT s.config_hash,
    row_number() OVER (PARTITION BY s.config_hash ORDER BY s.model, x.question) AS place, s.model, s.draws, x.question, x.er AS sampled_er, y.er AS effective_rank, x.sr AS sampled_sr,
    y.sr AS spectral_gap_ratio, p.config_hash AS scored_config_hash
FROM both_ways AS s
JOIN scored AS p ON p.model_hash = s.model_hash AND p.item_lists = s.item_lists
    AND p.countries IS NOT DISTINCT FROM s.countries
JOIN spectrum AS x ON x.run_id = s.run_id
JOIN spectrum AS y ON y.run_id = p.run_id AND y.question = x.question
WHERE s.is_sampled AND x.er IS NOT NULL AND y.er IS NOT NULL
ORDER BY s.config_hash, place;

COMMENT ON VIEW spectral_calibration IS 'Effective rank and gap ratio of the same model from written answers and from log-probabilities, for the same questions, countries and items. Their order over questions may be compared, their size may not: fewer draws give more patterns.';
COMMENT ON COLUMN spectral_calibration.config_hash IS 'Configuration of the written answers.';
COMMENT ON COLUMN spectral_calibration.place IS 'Order in the configuration, from 1: by model and question.';
COMMENT ON COLUMN spectral_calibration.draws IS 'Answers for each country and question.';
COMMENT ON COLUMN spectral_calibration.question IS 'Question: question.question.';
COMMENT ON COLUMN spectral_calibration.sampled_er IS 'Effective rank of the written answers.';
COMMENT ON COLUMN spectral_calibration.effective_rank IS 'Effective rank of the log-probabilities.';
COMMENT ON COLUMN spectral_calibration.sampled_sr IS 'Gap ratio of the written answers.';
COMMENT ON COLUMN spectral_calibration.spectral_gap_ratio IS 'Gap ratio of the log-probabilities.';
COMMENT ON COLUMN spectral_calibration.scored_config_hash IS 'Configuration of the log-probabilities.';

-- The first language of a configuration has its numbers in the overall slice, the others each in a slice.
CREATE OR REPLACE VIEW spectral_language AS
WITH chosen AS (
    SELECT run_id, if(list_contains(codes, 'en'), 'en', list_min(codes)) AS first_language
    FROM (SELECT run_id, (params->'languages')::VARCHAR[] AS codes FROM run WHERE evaluation = 'spectral')
    WHERE len(list_distinct(codes)) > 1
), numbers AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, if(v.slice_kind = 'overall', c.first_language, v.slice) AS language,
        v.metric, v.value, v.ci_low, v.ci_high, v.null_value, v.n_scored
    FROM latest_run AS r
    JOIN chosen AS c USING (run_id)
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.slice_kind IN ('overall', 'language')
), wide AS (
    SELECT config_hash, model, is_null, run_id, language,
        any_value(value) FILTER (metric = 'macro_f1') AS macro_f1,
        any_value(ci_low) FILTER (metric = 'macro_f1') AS ci_low,
        any_value(ci_high) FILTER (metric = 'macro_f1') AS ci_high,
        any_value(null_value) FILTER (metric = 'macro_f1') AS null_macro_f1,
        any_value(n_scored) FILTER (metric = 'macro_f1') AS n_scored,
        any_value(value) FILTER (metric = 'rank_spearman') AS rank_spearman,
        any_value(value) FILTER (metric = 'er_sr_correlation') AS er_sr_correlation,
        any_value(value) FILTER (metric = 'reference_mass') AS reference_mass,
        any_value(null_value) FILTER (metric = 'reference_mass') AS null_reference_mass
    FROM numbers
    GROUP BY ALL
), named AS (
    SELECT code, any_value(item) AS name FROM current_item WHERE item_list = 'languages' AND code IS NOT NULL GROUP BY code
)
SELECT w.config_hash,
    row_number() OVER (PARTITION BY w.config_hash ORDER BY w.is_null, w.model, w.language <> 'en', w.language) AS place,
    w.model, w.is_null, w.language, coalesce(n.name, w.language) AS language_name, w.macro_f1, w.ci_low, w.ci_high, w.null_macro_f1,
    w.n_scored, w.rank_spearman, w.er_sr_correlation, w.reference_mass, w.null_reference_mass, w.run_id
FROM wide AS w
LEFT JOIN named AS n ON n.code = w.language;

COMMENT ON VIEW spectral_language IS 'Numbers of each language of a configuration with several (--languages), by model; a language without names of dishes has fewer domains, so compare languages by spectral_language_pair. Texts were not checked by speakers.';
COMMENT ON COLUMN spectral_language.place IS 'Order in the configuration, from 1: models, then null models; within each, English first, then by code.';
COMMENT ON COLUMN spectral_language.language IS 'Language of the questions, ISO 639-1.';
COMMENT ON COLUMN spectral_language.language_name IS 'Its name in English.';
COMMENT ON COLUMN spectral_language.macro_f1 IS 'Mean F1 of the ER-SR categories against people''s, over the domains of the language; NULL if unscored.';
COMMENT ON COLUMN spectral_language.ci_low IS 'Lower end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN spectral_language.ci_high IS 'Upper end of the 95 % interval of macro_f1.';
COMMENT ON COLUMN spectral_language.null_macro_f1 IS 'Expected macro_f1 of one random category per domain.';
COMMENT ON COLUMN spectral_language.n_scored IS 'Number of questions from which macro_f1 is computed.';
COMMENT ON COLUMN spectral_language.rank_spearman IS 'Spearman''s rho between the model''s and people''s order of domains.';
COMMENT ON COLUMN spectral_language.er_sr_correlation IS 'Correlation of ER and SR over questions.';
COMMENT ON COLUMN spectral_language.reference_mass IS 'Mean probability of the items that the reference has for the country.';
COMMENT ON COLUMN spectral_language.null_reference_mass IS 'Mean probability of those items under another country''s answer.';

CREATE OR REPLACE VIEW spectral_language_pair AS
WITH wide AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, split_part(v.slice, '/', 1) AS language_a, split_part(v.slice, '/', 2) AS language_b,
        any_value(v.value) FILTER (v.metric = 'language_agreement') AS language_agreement,
        any_value(v.ci_low) FILTER (v.metric = 'language_agreement') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'language_agreement') AS ci_high,
        any_value(v.value) FILTER (v.metric = 'language_agreement_p') AS p_adjusted,
        any_value(v.n_scored) FILTER (v.metric = 'language_agreement') AS n_domains,
        any_value(v.value) FILTER (v.metric = 'er_agreement') AS er_agreement,
        any_value(v.null_value) FILTER (v.metric = 'er_agreement') AS null_er_agreement,
        any_value(v.value) FILTER (v.metric = 'order_agreement') AS order_agreement,
        any_value(v.null_value) FILTER (v.metric = 'order_agreement') AS null_order_agreement
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND v.slice_kind = 'language_pair'
    GROUP BY ALL
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY is_null, model, language_a <> 'en', language_a, language_b) AS place,
    * EXCLUDE (config_hash, run_id), run_id
FROM wide;

COMMENT ON VIEW spectral_language_pair IS 'Agreement of a model''s answers in two languages: on which countries are alike, on effective ranks, on the order of domains. A model that translates the question first cannot be told apart.';
COMMENT ON COLUMN spectral_language_pair.place IS 'Order in the configuration, from 1: models, then null models; within each, English first, then by code.';
COMMENT ON COLUMN spectral_language_pair.language_a IS 'First language, ISO 639-1.';
COMMENT ON COLUMN spectral_language_pair.language_b IS 'Second language.';
COMMENT ON COLUMN spectral_language_pair.language_agreement IS 'Spearman''s correlation of the similarities between countries, mean over domains; 0 for shuffled countries; NULL if unscored.';
COMMENT ON COLUMN spectral_language_pair.ci_low IS 'Lower end of the 95 % interval of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.ci_high IS 'Upper end of the 95 % interval of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.p_adjusted IS 'One-sided p of shuffled countries, adjusted for all pairs of languages.';
COMMENT ON COLUMN spectral_language_pair.n_domains IS 'Number of domains of language_agreement.';
COMMENT ON COLUMN spectral_language_pair.er_agreement IS 'Spearman''s correlation of effective ranks over questions.';
COMMENT ON COLUMN spectral_language_pair.null_er_agreement IS 'Agreement with one language''s countries shuffled within each item, which leaves what lists and items give.';
COMMENT ON COLUMN spectral_language_pair.order_agreement IS 'Spearman''s correlation of the orders of domains by gap ratio.';
COMMENT ON COLUMN spectral_language_pair.null_order_agreement IS 'Agreement with one language''s countries shuffled within each item, which leaves what lists and items give.';

CREATE OR REPLACE VIEW spectral_own_language AS
WITH wide AS (
    SELECT r.config_hash, r.model, r.is_null, r.run_id, v.slice AS country,
        any_value(v.value) FILTER (v.metric = 'own_language_advantage') AS advantage,
        any_value(v.ci_low) FILTER (v.metric = 'own_language_advantage') AS ci_low,
        any_value(v.ci_high) FILTER (v.metric = 'own_language_advantage') AS ci_high,
        any_value(v.null_value) FILTER (v.metric = 'own_language_advantage') AS null_advantage,
        any_value(v.value) FILTER (v.metric = 'own_language_p') AS p_holm,
        any_value(v.n_scored) FILTER (v.metric = 'own_language_advantage') AS n_scored
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'spectral' AND v.metric IN ('own_language_advantage', 'own_language_p') AND v.slice_kind = 'country'
    GROUP BY ALL
), spoken AS (
    SELECT country, first(language ORDER BY percent DESC, language) AS language FROM country_language
    WHERE status IN ('official', 'de_facto_official') GROUP BY country
)
SELECT w.config_hash,
    row_number() OVER (PARTITION BY w.config_hash ORDER BY w.is_null, w.model, s.language, w.country) AS place,
    w.model, w.is_null, w.country, c.name, c.region, s.language, w.advantage, w.ci_low, w.ci_high, w.null_advantage, w.p_holm,
    w.n_scored, w.run_id
FROM wide AS w
JOIN country AS c ON c.country = w.country
LEFT JOIN spoken AS s ON s.country = w.country;

COMMENT ON VIEW spectral_own_language IS 'Gain of the probability of a country''s own items when asked in its main language, against English; one row per model and country whose main language is in the configuration.';
COMMENT ON COLUMN spectral_own_language.place IS 'Order in the configuration, from 1: models, then null models; within each, by language and country.';
COMMENT ON COLUMN spectral_own_language.country IS 'Country: country.country.';
COMMENT ON COLUMN spectral_own_language.name IS 'Its name: country.name.';
COMMENT ON COLUMN spectral_own_language.region IS 'Its region: country.region.';
COMMENT ON COLUMN spectral_own_language.language IS 'Its main language: the official one that most people speak, ISO 639-1.';
COMMENT ON COLUMN spectral_own_language.advantage IS 'Probability of its own items in that language less that in English, mean over domains and wordings; NULL if unscored.';
COMMENT ON COLUMN spectral_own_language.ci_low IS 'Lower end of the 95 % interval over wordings.';
COMMENT ON COLUMN spectral_own_language.ci_high IS 'Upper end of that interval.';
COMMENT ON COLUMN spectral_own_language.null_advantage IS 'Mean of this difference, in that language, over the countries whose main language it is not.';
COMMENT ON COLUMN spectral_own_language.p_holm IS 'Two-sided p of the advantage, adjusted by Holm for all countries of the configuration with such a language; NULL: no test.';
COMMENT ON COLUMN spectral_own_language.n_scored IS 'Number of questions that it is over.';

CREATE OR REPLACE VIEW spectral_similarity AS
SELECT r.config_hash,
    row_number() OVER (PARTITION BY r.config_hash ORDER BY s.model, s.domain, s.country_a, s.country_b) AS place,
    s.model, s.domain, s.country_a, s.country_b, s.similarity
FROM latest_run AS r
JOIN country_similarity AS s USING (run_id)
WHERE r.evaluation = 'spectral' AND NOT r.is_null;

COMMENT ON VIEW spectral_similarity IS 'country_similarity of the newest finished run of each model and configuration.';
COMMENT ON COLUMN spectral_similarity.place IS 'Order in the configuration, from 1: by model, domain and countries.';
COMMENT ON COLUMN spectral_similarity.model IS 'Model that answered.';
COMMENT ON COLUMN spectral_similarity.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_similarity.country_a IS 'The country whose code is first in the alphabet: country.country.';
COMMENT ON COLUMN spectral_similarity.country_b IS 'The other country: country.country.';
COMMENT ON COLUMN spectral_similarity.similarity IS 'Cosine of their distributions over items; 1: the same, 0: no item in common.';

CREATE OR REPLACE VIEW spectral_domain AS
WITH scored AS (
    SELECT r.config_hash, q.topic AS domain, max(u.n_rows) AS n_items
    FROM latest_run AS r
    JOIN run_request AS q USING (run_id)
    JOIN part_unit AS u ON u.request_hash = q.request_hash AND u.kind = 'item_logprob'
    WHERE r.evaluation = 'spectral'
    GROUP BY ALL
), asked AS (
    SELECT DISTINCT r.config_hash, q.domain, s.n_items
    FROM latest_run AS r
    JOIN metric_value AS v ON v.run_id = r.run_id AND v.slice_kind = 'question'
    JOIN spectral_question AS q ON q.config_hash = r.config_hash AND q.question = v.slice
    LEFT JOIN scored AS s ON s.config_hash = r.config_hash AND s.domain = q.domain
    WHERE r.evaluation = 'spectral'
)
SELECT asked.config_hash,
    row_number() OVER (PARTITION BY asked.config_hash ORDER BY e.human_score, d.domain) AS place,
    d.domain, d.label, asked.n_items, d.human_question, e.human_score, e.human_sd, e.human_category,
    e.human_n
FROM asked
JOIN (SELECT DISTINCT config_hash, domain, label, human_question FROM spectral_question) AS d
    ON d.config_hash = asked.config_hash AND d.domain = asked.domain
JOIN spectral_expected AS e ON e.config_hash = asked.config_hash AND e.domain = d.domain;

COMMENT ON VIEW spectral_domain IS 'Domains of each configuration, with people''s ranking of them.';
COMMENT ON COLUMN spectral_domain.place IS 'Order in the configuration, from 1: from common to unique by people''s ranking.';
COMMENT ON COLUMN spectral_domain.domain IS 'Domain: domain.domain.';
COMMENT ON COLUMN spectral_domain.label IS 'Name of the domain for display.';
COMMENT ON COLUMN spectral_domain.n_items IS 'Number of items that were scored for each country; NULL if none were.';
COMMENT ON COLUMN spectral_domain.human_question IS 'Subject that people ranked.';
COMMENT ON COLUMN spectral_domain.human_score IS 'Mean rank that people gave it; low means common across countries.';
COMMENT ON COLUMN spectral_domain.human_sd IS 'Standard deviation of their ranks.';
COMMENT ON COLUMN spectral_domain.human_category IS 'Category that people expect.';
COMMENT ON COLUMN spectral_domain.human_n IS 'Number of people who ranked; NULL for a domain of a pack, whose author set the expectation.';

