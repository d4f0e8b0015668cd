CREATE OR REPLACE VIEW culturall_doubt AS
SELECT DISTINCT run_id, unnest(['accuracy', 'scenario_gain']) AS metric, 'a judge fails its check' AS reason
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND NOT r.is_null AND v.slice_kind IN ('judge', 'judge_language') AND v.value < 0.9
UNION ALL
SELECT run_id, 'accuracy', printf('matching does not read %.0f %% of the answers: a judge would', 100 * (1 - v.value))
FROM run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND NOT r.is_null AND v.metric = 'match_read' AND v.slice_kind = 'overall'
    AND v.value < 0.95
    AND NOT EXISTS (FROM metric_value AS j WHERE j.run_id = r.run_id AND j.metric = 'judge_match_agreement');

COMMENT ON VIEW culturall_doubt IS 'Rows that culturall adds to the view doubt: judges that fail their own check (culturall_judge.flagged), and accuracy by match where matching does not read over 5 % of the answers.';
COMMENT ON COLUMN culturall_doubt.metric IS 'Headline: metric.metric.';

CREATE OR REPLACE VIEW culturall_judge AS
-- One row per configuration, language (NULL: all) and judge, with the result of the judge's check.
WITH part AS (
    SELECT r.config_hash, split_part(v.slice, ':', -1) AS last, v.slice_kind, v.slice, v.metric, v.value
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'culturall' AND v.slice_kind IN ('judge', 'judge_language')
)
SELECT config_hash,
    row_number() OVER (PARTITION BY config_hash ORDER BY slice_kind, slice) AS place,
    CASE slice_kind WHEN 'judge' THEN slice ELSE left(slice, length(slice) - length(last) - 1) END AS judge,
    CASE slice_kind WHEN 'judge_language' THEN last END AS language,
    any_value(value) FILTER (metric = 'judge_gold_accepted') AS gold_accepted,
    any_value(value) FILTER (metric = 'judge_shuffled_refused') AS others_refused,
    any_value(value) FILTER (metric = 'judge_empty_refused') AS empty_refused,
    min(value) < 0.9 AS flagged
FROM part
GROUP BY config_hash, slice_kind, slice, last;

COMMENT ON VIEW culturall_judge IS 'Check of the judges, over all languages and in each: share of gold answers accepted, and shares of wrong and empty answers refused.';
COMMENT ON COLUMN culturall_judge.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_judge.place IS 'Order in the configuration, from 1: first the check over all languages.';
COMMENT ON COLUMN culturall_judge.judge IS 'Judge.';
COMMENT ON COLUMN culturall_judge.language IS 'Language of the items; NULL: all.';
COMMENT ON COLUMN culturall_judge.gold_accepted IS 'Share of gold answers that the judge accepts; NULL if none was judged.';
COMMENT ON COLUMN culturall_judge.others_refused IS 'Share of other items'' gold answers that the judge refuses.';
COMMENT ON COLUMN culturall_judge.empty_refused IS 'Share of empty answers that the judge refuses.';
COMMENT ON COLUMN culturall_judge.flagged IS 'Whether one of the three shares is below 90 %; NULL if all three are unknown.';

CREATE OR REPLACE VIEW leaderboard_culturall AS
WITH wide AS (
    SELECT r.config_hash, r.profile, r.model, r.is_null, r.run_id, r.finished_at,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS accuracy,
        any_value(ci_low) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS ci_low,
        any_value(ci_high) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS ci_high,
        any_value(null_value) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS null_value,
        any_value(value) FILTER (metric = 'accuracy_answered' AND slice_kind = 'overall') AS accuracy_answered,
        any_value(n_scored) FILTER (metric = 'accuracy_answered' AND slice_kind = 'overall') AS n_answered,
        any_value(value) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain,
        any_value(ci_low) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain_low,
        any_value(ci_high) FILTER (metric = 'english_gain' AND slice_kind = 'overall') AS english_gain_high,
        any_value(value) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain,
        any_value(ci_low) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain_low,
        any_value(ci_high) FILTER (metric = 'scenario_gain' AND slice_kind = 'overall') AS scenario_gain_high,
        any_value(value) FILTER (metric = 'accuracy_matched' AND slice_kind = 'overall') AS accuracy_matched,
        any_value(value) FILTER (metric = 'accuracy_matched_low' AND slice_kind = 'overall') AS matched_low,
        any_value(value) FILTER (metric = 'accuracy_matched_high' AND slice_kind = 'overall') AS matched_high,
        any_value(value) FILTER (metric = 'match_read' AND slice_kind = 'overall') AS match_read,
        any_value(value) FILTER (metric = 'accuracy_english' AND slice_kind = 'overall') AS accuracy_english,
        any_value(value) FILTER (metric = 'accuracy_question' AND slice_kind = 'overall') AS accuracy_question,
        any_value(value) FILTER (metric = 'accuracy_retrieval' AND slice_kind = 'overall') AS accuracy_retrieval,
        any_value(value) FILTER (metric = 'judge_match_agreement' AND slice_kind = 'overall') AS judge_match_agreement,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'easy') AS easy,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'medium') AS medium,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'difficulty' AND slice = 'hard') AS hard,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'easy')
            AS published_easy,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'medium')
            AS published_medium,
        any_value(value) FILTER (metric = 'accuracy' AND slice_kind = 'published_difficulty' AND slice = 'hard')
            AS published_hard,
        any_value(value) FILTER (metric = 'coverage' AND slice_kind = 'overall') AS coverage,
        any_value(value) FILTER (metric = 'unanswered' AND slice_kind = 'reason' AND slice = 'refused') AS refused,
        any_value(n_scored) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS n_scored,
        any_value(n_scored + n_unscored) FILTER (metric = 'accuracy' AND slice_kind = 'overall') AS n_items,
        any_value(value) FILTER (metric = 'self_preference_warning') = 1 AS self_preference
    FROM latest_run AS r
    JOIN metric_value AS v USING (run_id)
    WHERE r.evaluation = 'culturall'
    GROUP BY ALL
), judging AS (
    SELECT config_hash, string_agg(judge, ', ' ORDER BY judge) AS judge, bool_and(validated) AS validated
    FROM judge_used
    WHERE evaluation = 'culturall'
    GROUP BY config_hash
), flags AS (
    SELECT config_hash, bool_or(flagged) AS judge_flagged FROM culturall_judge GROUP BY config_hash
), checked AS (
    SELECT a.config_hash, count(DISTINCT a.item) FILTER (coalesce(i.status, a.status) = 'not checked by people')
        AS n_not_checked
    FROM culturall_answer AS a
    LEFT JOIN culturall_item AS i USING (item)
    GROUP BY a.config_hash
)
SELECT wide.config_hash,
    row_number() OVER (
        PARTITION BY wide.config_hash ORDER BY wide.is_null, wide.accuracy DESC NULLS LAST, wide.model
    ) AS place,
    wide.* EXCLUDE (config_hash, self_preference, n_scored, n_items, run_id, finished_at, is_null),
    judging.judge, judging.validated, flags.judge_flagged, wide.self_preference, wide.n_scored, wide.n_items,
    checked.n_not_checked, wide.run_id, wide.finished_at, wide.is_null
FROM wide
LEFT JOIN judging USING (config_hash)
LEFT JOIN flags USING (config_hash)
LEFT JOIN checked USING (config_hash)
ORDER BY max(wide.finished_at) OVER (PARTITION BY wide.config_hash) DESC, wide.config_hash, place;

COMMENT ON VIEW leaderboard_culturall IS 'One row per configuration and model: newest configuration first, models by accuracy, then null models. Compare within one config_hash only.';
COMMENT ON COLUMN leaderboard_culturall.place IS 'Order in the configuration, from 1: models by accuracy, then null models.';
COMMENT ON COLUMN leaderboard_culturall.model IS 'Model; null:constant-letter always gives the commonest letter, null:other-answer another item''s answer.';
COMMENT ON COLUMN leaderboard_culturall.accuracy IS 'Share of all items answered rightly in their own language, as judges decide or, without judges, matching; refused, empty and cut-off answers are wrong; NULL if not run or unscored.';
COMMENT ON COLUMN leaderboard_culturall.ci_low IS 'Lower end of the 95 % interval of accuracy, over regions, or over items if all are of one region; by match it holds all answers that are not read as wrong.';
COMMENT ON COLUMN leaderboard_culturall.ci_high IS 'Upper end of the 95 % interval of accuracy; by match it holds all answers that are not read as right.';
COMMENT ON COLUMN leaderboard_culturall.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_answered IS 'Accuracy without refused, empty and cut-off answers.';
COMMENT ON COLUMN leaderboard_culturall.n_answered IS 'Number of items from which accuracy_answered is computed.';
COMMENT ON COLUMN leaderboard_culturall.english_gain IS 'Accuracy in English minus accuracy in the item''s own language, item by item; English items are left out.';
COMMENT ON COLUMN leaderboard_culturall.english_gain_low IS 'Lower end of the 95 % interval of english_gain.';
COMMENT ON COLUMN leaderboard_culturall.english_gain_high IS 'Upper end of the 95 % interval of english_gain.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain IS 'Accuracy with the scenario minus accuracy without it, item by item.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain_low IS 'Lower end of the 95 % interval of scenario_gain.';
COMMENT ON COLUMN leaderboard_culturall.scenario_gain_high IS 'Upper end of the 95 % interval of scenario_gain.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_matched IS 'Share of the answers that matching reads which match the gold answer, without a judge; NULL if it reads less than half.';
COMMENT ON COLUMN leaderboard_culturall.matched_low IS 'Accuracy by match if every answer that matching does not read were wrong.';
COMMENT ON COLUMN leaderboard_culturall.matched_high IS 'Accuracy by match if every answer that matching does not read were right.';
COMMENT ON COLUMN leaderboard_culturall.match_read IS 'Share of readable answers that matching reads: short ones in a plain form.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_english IS 'Accuracy in English.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_question IS 'Accuracy without the scenario, from the question alone.';
COMMENT ON COLUMN leaderboard_culturall.accuracy_retrieval IS 'Accuracy with passages of the user''s documents.';
COMMENT ON COLUMN leaderboard_culturall.judge_match_agreement IS 'Share of the answers that matching reads on which judging and matching agree.';
COMMENT ON COLUMN leaderboard_culturall.easy IS 'Accuracy on items that at least 10 in 15 of the cohort''s other models solve; NULL for fewer than three other models.';
COMMENT ON COLUMN leaderboard_culturall.medium IS 'Accuracy on items that at least 5, but fewer than 10, in 15 of the cohort''s other models solve.';
COMMENT ON COLUMN leaderboard_culturall.hard IS 'Accuracy on items that fewer than 5 in 15 of the cohort''s other models solve.';
COMMENT ON COLUMN leaderboard_culturall.published_easy IS 'Accuracy on items that 10 to 14 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.published_medium IS 'Accuracy on items that 5 to 9 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.published_hard IS 'Accuracy on items that at most 4 of the paper''s 15 settings solve; NULL where the items lack this number.';
COMMENT ON COLUMN leaderboard_culturall.coverage IS 'Share of all prompts with a readable answer.';
COMMENT ON COLUMN leaderboard_culturall.refused IS 'Share of all prompts that were refused; NULL if none.';
COMMENT ON COLUMN leaderboard_culturall.judge IS 'Judges; NULL if there are none.';
COMMENT ON COLUMN leaderboard_culturall.validated IS 'Whether all judges were compared with people under this rubric.';
COMMENT ON COLUMN leaderboard_culturall.judge_flagged IS 'Whether a judge accepts under 90 % of gold answers, or refuses under 90 % of other items'' answers or of empty ones, overall or in a language.';
COMMENT ON COLUMN leaderboard_culturall.self_preference IS 'Whether a judge and the model are of one model family.';
COMMENT ON COLUMN leaderboard_culturall.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN leaderboard_culturall.n_items IS 'Number of items sent to the model.';
COMMENT ON COLUMN leaderboard_culturall.n_not_checked IS 'Number of items that no person has checked.';

CREATE OR REPLACE VIEW culturall_by_language AS
WITH spread AS (
    SELECT config_hash, language, count(DISTINCT region) AS n_regions, count(DISTINCT item) AS n_items
    FROM culturall_answer
    GROUP BY ALL
)
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice, r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS language, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason, spread.n_regions,
    CASE WHEN spread.n_regions BETWEEN 2 AND least(4, spread.n_items - 1) THEN spread.n_regions || ' regions; an interval over regions needs 5'
    END AS no_interval_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND (j.language = v.slice OR j.language IS NULL)
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
LEFT JOIN spread ON spread.config_hash = r.config_hash AND spread.language = v.slice
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'language'
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_language IS 'Accuracy in the items'' own language, by language. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_language.place IS 'Order in the configuration, from 1: by language; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_language.language IS 'Language, ISO 639-1.';
COMMENT ON COLUMN culturall_by_language.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_language.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_language.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_language.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_language.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_language.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_language.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_language.n_regions IS 'Number of regions of the language''s items.';
COMMENT ON COLUMN culturall_by_language.no_interval_reason IS 'Reason if the language has too few regions for an interval; NULL if it has enough, only one, or one item in each.';
COMMENT ON COLUMN culturall_by_language.judge_flagged IS 'Whether a judge fails its own check in this language or overall.';

CREATE OR REPLACE VIEW culturall_by_region AS
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice, r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS region, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND j.language IS NULL
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'region'
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_region IS 'Accuracy in the items'' own language, by region. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_region.place IS 'Order in the configuration, from 1: by region; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_region.region IS 'Region, ISO 3166-1 alpha-2.';
COMMENT ON COLUMN culturall_by_region.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_region.ci_low IS 'Lower end of the 95 % interval, over items.';
COMMENT ON COLUMN culturall_by_region.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_region.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_region.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_region.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_region.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_region.judge_flagged IS 'Whether a judge fails its own check.';

CREATE OR REPLACE VIEW culturall_by_topic AS
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice, r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS topic, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND j.language IS NULL
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind = 'topic'
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_topic IS 'Accuracy in the items'' own language, by topic. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_topic.place IS 'Order in the configuration, from 1: by topic; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_topic.topic IS 'One of the 16 topics.';
COMMENT ON COLUMN culturall_by_topic.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_topic.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_topic.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_topic.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_topic.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_topic.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_topic.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_topic.judge_flagged IS 'Whether a judge fails its own check.';

CREATE OR REPLACE VIEW culturall_by_difficulty AS
SELECT r.config_hash,
    row_number() OVER (
        PARTITION BY r.config_hash ORDER BY v.slice_kind, list_position(['easy', 'medium', 'hard'], v.slice), r.is_null, v.value DESC NULLS LAST, r.model
    ) AS place,
    r.profile, r.model, v.slice AS difficulty, v.slice_kind = 'published_difficulty' AS is_published, v.value AS accuracy, v.ci_low, v.ci_high, v.null_value, v.n_scored,
    v.n_unscored, v.unscored_reason,
    (
        SELECT bool_or(j.flagged) FROM culturall_judge AS j
        WHERE j.config_hash = r.config_hash AND j.language IS NULL
    ) AS judge_flagged,
    r.run_id, r.finished_at, r.is_null
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
WHERE r.evaluation = 'culturall' AND v.metric = 'accuracy' AND v.slice_kind IN ('difficulty', 'published_difficulty')
ORDER BY max(r.finished_at) OVER (PARTITION BY r.config_hash) DESC, r.config_hash, place;

COMMENT ON VIEW culturall_by_difficulty IS 'Accuracy in the items'' own language, by difficulty. Compare within one config_hash only.';
COMMENT ON COLUMN culturall_by_difficulty.place IS 'Order in the configuration, from 1: by difficulty; within each, models by accuracy, then null models.';
COMMENT ON COLUMN culturall_by_difficulty.difficulty IS 'easy, medium or hard, by the number of the cohort''s other models that solve the items; if is_published, by the 15 published settings.';
COMMENT ON COLUMN culturall_by_difficulty.is_published IS 'Whether the 15 published settings define the difficulty, and not the cohort''s other models.';
COMMENT ON COLUMN culturall_by_difficulty.accuracy IS 'Share of items answered rightly; NULL if unscored.';
COMMENT ON COLUMN culturall_by_difficulty.ci_low IS 'Lower end of the 95 % interval, over regions; over items if all are of one region or each has its own; NULL for two to four regions with several items.';
COMMENT ON COLUMN culturall_by_difficulty.ci_high IS 'Upper end of the 95 % interval.';
COMMENT ON COLUMN culturall_by_difficulty.null_value IS 'Score of a null model on the same items, which gives the commonest letter, or another item''s answer if there are no letters.';
COMMENT ON COLUMN culturall_by_difficulty.n_scored IS 'Number of items from which accuracy is computed.';
COMMENT ON COLUMN culturall_by_difficulty.n_unscored IS 'Number of items without a score.';
COMMENT ON COLUMN culturall_by_difficulty.unscored_reason IS 'Why there is no accuracy; NULL if there is one.';
COMMENT ON COLUMN culturall_by_difficulty.judge_flagged IS 'Whether a judge fails its own check.';

CREATE OR REPLACE VIEW culturall_solved AS
WITH item AS (
    SELECT config_hash, language, item, count(*) FILTER (correct) AS n_solved
    FROM culturall_answer
    SEMI JOIN latest_run USING (run_id)
    WHERE condition = 'native'
    GROUP BY ALL
)
SELECT config_hash, row_number() OVER (PARTITION BY config_hash ORDER BY language, n_solved) AS place, language,
    n_solved, count(*) AS n_items
FROM item
GROUP BY config_hash, language, n_solved;

COMMENT ON VIEW culturall_solved IS 'Number of items of each language by the number of models that solve them.';
COMMENT ON COLUMN culturall_solved.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_solved.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN culturall_solved.language IS 'Language of the items.';
COMMENT ON COLUMN culturall_solved.n_solved IS 'Number of models that solve an item in its own language.';
COMMENT ON COLUMN culturall_solved.n_items IS 'Number of items that exactly n_solved models solve.';

CREATE OR REPLACE VIEW culturall_example AS
WITH chosen AS (
    SELECT config_hash, item
    FROM culturall_answer
    SEMI JOIN latest_run USING (run_id)
    WHERE condition = 'native'
    QUALIFY row_number() OVER (PARTITION BY config_hash ORDER BY md5(item)) = 1
)
SELECT a.config_hash, row_number() OVER (PARTITION BY a.config_hash ORDER BY a.model) AS place, a.model, a.item,
    a.language, a.region, a.topic, a.scenario, a.question, a.gold, a.answer, a.matched, a.judged, a.correct,
    a.unscored_reason
FROM culturall_answer AS a
SEMI JOIN latest_run USING (run_id)
SEMI JOIN chosen USING (config_hash, item)
WHERE a.condition = 'native';

COMMENT ON VIEW culturall_example IS 'One item with the answer of every model in the item''s own language.';
COMMENT ON COLUMN culturall_example.config_hash IS 'Configuration: run.config_hash.';
COMMENT ON COLUMN culturall_example.place IS 'Order in the configuration, from 1.';
COMMENT ON COLUMN culturall_example.model IS 'Model that answered.';
COMMENT ON COLUMN culturall_example.item IS 'Item, which is the same for all models of a configuration.';
COMMENT ON COLUMN culturall_example.language IS 'Language of the item.';
COMMENT ON COLUMN culturall_example.region IS 'Region of the item.';
COMMENT ON COLUMN culturall_example.topic IS 'Topic of the item.';
COMMENT ON COLUMN culturall_example.scenario IS 'Scenario.';
COMMENT ON COLUMN culturall_example.question IS 'Question.';
COMMENT ON COLUMN culturall_example.gold IS 'Gold answer.';
COMMENT ON COLUMN culturall_example.answer IS 'Answer of the model; NULL if there is nothing to read.';
COMMENT ON COLUMN culturall_example.matched IS 'Whether the answer equals the gold answer, decided without a judge.';
COMMENT ON COLUMN culturall_example.judged IS 'Whether the judges accept the answer as right.';
COMMENT ON COLUMN culturall_example.correct IS 'Whether accuracy counts the answer as right.';
COMMENT ON COLUMN culturall_example.unscored_reason IS 'Why there is no score; NULL if there is one.';

CREATE OR REPLACE VIEW culturall_draft_state AS
WITH measured AS (
    -- A solver that was judged in several ways counts once, as last measured.
    SELECT draft, count(*) AS n_models, count(*) FILTER (is_right) AS n_right
    FROM (
        SELECT draft, is_right FROM culturall_measure
        WHERE is_right IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY draft, engine_hash ORDER BY measured_at DESC, judges DESC) = 1
    )
    GROUP BY draft
), replaced AS (
    SELECT DISTINCT child.parent AS draft
    FROM culturall_draft AS child
    LEFT JOIN culturall_review AS r ON r.draft = child.draft AND r.stage = 'elevate'
    WHERE len(child.faults) = 0 AND (child.origin = 'revision' OR r.decision IN ('accept', 'revise'))
), checked AS (
    SELECT draft, bool_or(reason <> '' AND NOT is_doubt) AS has_fault, bool_or(reason = 'too_easy') AS is_too_easy
    FROM culturall_check
    GROUP BY draft
)
SELECT d.draft, d.language, d.origin, coalesce(m.n_models, 0) AS n_models, coalesce(m.n_right, 0) AS n_right,
    3 * m.n_right <= m.n_models AS is_hard,
    coalesce(own.decision, revised.decision) AS decision,
    coalesce(own.reviewer, revised.reviewer) AS reviewer,
    CASE
        WHEN len(d.faults) > 0 THEN 'rejected_by_checks'
        WHEN d.origin = 'elevation' AND e.decision = 'reject' THEN 'elevation_rejected'
        WHEN replaced.draft IS NOT NULL THEN 'replaced'
        WHEN d.origin = 'elevation' AND e.decision IS NULL THEN 'elevation_waits'
        WHEN own.decision = 'reject' THEN 'rejected'
        WHEN c.is_too_easy THEN 'too_easy'
        WHEN c.has_fault THEN 'rejected_by_checks'
        WHEN own.decision = 'accept' THEN 'accepted'
        WHEN revised.decision = 'revise' THEN 'revised'
        WHEN c.draft IS NOT NULL THEN 'review_waits'
        ELSE 'drafted'
    END AS status
FROM culturall_draft AS d
LEFT JOIN measured AS m USING (draft)
LEFT JOIN replaced USING (draft)
LEFT JOIN checked AS c USING (draft)
LEFT JOIN culturall_review AS e ON e.draft = d.draft AND e.stage = 'elevate'
LEFT JOIN culturall_review AS own ON own.draft = d.draft AND own.stage = 'release'
LEFT JOIN culturall_review AS revised
    ON revised.draft = d.parent AND revised.stage = 'release' AND d.origin = 'revision';

COMMENT ON VIEW culturall_draft_state IS 'Status of each draft of a build, computed from the other tables.';
COMMENT ON COLUMN culturall_draft_state.draft IS 'culturall_draft.draft.';
COMMENT ON COLUMN culturall_draft_state.language IS 'Declared language.';
COMMENT ON COLUMN culturall_draft_state.origin IS 'culturall_draft.origin.';
COMMENT ON COLUMN culturall_draft_state.n_models IS 'Number of models whose answer to the draft could be scored.';
COMMENT ON COLUMN culturall_draft_state.n_right IS 'Number of models that solve the draft.';
COMMENT ON COLUMN culturall_draft_state.is_hard IS 'Whether at most a third of the models solve the draft; NULL if no answer was scored.';
COMMENT ON COLUMN culturall_draft_state.decision IS 'Reviewer''s decision on the release; NULL before a review.';
COMMENT ON COLUMN culturall_draft_state.reviewer IS 'Reviewer who decided.';
COMMENT ON COLUMN culturall_draft_state.status IS 'rejected_by_checks. elevation_waits, elevation_rejected: a harder version that people have not decided on, or have rejected. replaced: by an accepted harder version or by a revision. too_easy: left out by the rule of the last release. drafted: not yet checked for a release. review_waits: checked, not yet reviewed. accepted, revised, rejected: by a reviewer.';

CREATE OR REPLACE VIEW culturall_build AS
WITH reasons AS (
    SELECT draft, unnest(list_distinct(faults)) AS reason FROM culturall_draft
    UNION
    SELECT draft, reason FROM culturall_check WHERE reason <> ''
)
SELECT s.status, NULL AS reason, count(*) AS n_drafts FROM culturall_draft_state AS s GROUP BY s.status
UNION ALL
SELECT s.status, r.reason, count(*) AS n_drafts
FROM culturall_draft_state AS s JOIN reasons AS r USING (draft)
GROUP BY s.status, r.reason
ORDER BY status, reason NULLS FIRST;

COMMENT ON VIEW culturall_build IS 'Number of drafts of a build, by status and by fault or doubt.';
COMMENT ON COLUMN culturall_build.status IS 'See culturall_draft_state.status.';
COMMENT ON COLUMN culturall_build.reason IS 'Fault or doubt; NULL: all drafts of that status. A draft may have several.';
COMMENT ON COLUMN culturall_build.n_drafts IS 'Number of drafts.';
