"""Makes the rows of ``metric_value`` that only models have, not nulls: values, decisions, recognition of
personas, and tests between cultures and between models. Pure.

Tests and intervals are over scenarios (``tasks.metrics.group_tests``); the parameter ``reproduce`` selects
the tests of WorldWiseAI 2024, which treat answers as independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tasks.evaluations.worldwise.read import Placed, Space, WorldwiseScores, scenario_text
from tasks.evaluations.worldwise.rows import CultureGroup, culture_groups, mean_row, null_rows
from tasks.evaluations.worldwise.study import DECISIONS, N_VALUES, WorldwiseStudy
from tasks.loop.rows import OVERALL, Metric, main_reason, mean_of, scored, unscored
from tasks.metrics.group_tests import PairTest, group_test, pair_tests
from tasks.metrics.intervals import SHARE, jackknife_interval, mean_interval
from tasks.metrics.recognition import persona_recognition
from tasks.metrics.stereotypes import bare_words, stereotype_scores
from tasks.metrics.types import FloatArray, IntArray, Interval
from tasks.metrics.value_shift import ValueShift, choice_counts, persona_shift, shift_interval, value_shares
from tasks.metrics.variance import RESIDUAL, crossed_variance

NO_BASELINE = "the baseline has no values to compare with"


def model_rows(study: WorldwiseStudy, space: Space, answers: WorldwiseScores) -> list[Metric]:
    """Return all rows of one model except those of ``cross_model_rows``."""
    return [
        *null_rows(study, space, answers),
        *projection_rows(study, space, answers),
        *value_rows(study, answers),
        *recognition_rows(study, answers),
        *stereotype_rows(study, answers),
        *count_rows(study, answers),
        *culture_rows(study, answers),
    ]


def value_rows(study: WorldwiseStudy, answers: WorldwiseScores) -> list[Metric]:
    """Return value_share, value_shift, value_shift_p and decision_share of one model."""
    counts = _counts(study, answers)
    return [
        *_share_rows(study, answers, counts),
        *_shift_rows(study, answers, counts),
        *_decision_rows(study, answers),
    ]


def _counts(study: WorldwiseStudy, answers: WorldwiseScores) -> IntArray:
    """Return [C, S, R, values]: how often each answer names each value."""
    flat = answers.choices.reshape(-1, N_VALUES)
    n_values = max(len(study.content.values), int(flat.max(initial=-1)) + 1)
    return choice_counts(flat, n_values).reshape(*answers.decisions.shape, n_values)


def _share_rows(study: WorldwiseStudy, answers: WorldwiseScores, counts: IntArray) -> Iterator[Metric]:
    """Yield the share of each value among the values that a culture names; observations are values named."""
    total = counts.sum(axis=(1, 2))
    baseline = total[0] / total[0].sum() if total[0].any() else None
    for c, group in enumerate(culture_groups(study)):
        n = N_VALUES * answers.decisions[c].size
        n_named = int(total[c].sum())
        left_out = value_shares(total[c] - counts[c].sum(axis=1))  # each row leaves out one scenario
        for v, value in enumerate(study.content.values):
            where = ("culture_value", f"{group.where[1]}:{value.value}")
            null = float(baseline[v]) if c and baseline is not None else None
            if not n_named:
                yield unscored("value_share", where, main_reason(answers.reasons[c]), n, null)
                continue
            share = float(total[c, v] / n_named)
            interval = jackknife_interval(share, left_out[:, v], SHARE)
            yield scored("value_share", where, share, (n_named, n - n_named), interval, null)


def _shift_rows(study: WorldwiseStudy, answers: WorldwiseScores, counts: IntArray) -> Iterator[Metric]:
    """Yield the total variation distance between each culture's values and the baseline's, and its mean."""
    groups = list(culture_groups(study))[1:]
    shifts = [_shift(study, counts, c) for c in range(1, len(counts))]
    n = 2 * answers.decisions[0].size  # answers of the persona and of the baseline
    known: dict[int, ValueShift] = {}
    for c, (group, shift) in enumerate(zip(groups, shifts, strict=True), start=1):
        if shift is None:
            reason = main_reason(answers.reasons[c]) if counts[0].any() else NO_BASELINE
            yield unscored("value_shift", group.where, reason, n)
            yield unscored("value_shift_p", group.where, reason, n)
            continue
        known[c] = shift
        n_scored = shift.n_persona + shift.n_baseline
        interval = _shift_interval(study, counts, {c: shift})
        yield scored("value_shift", group.where, shift.tvd, (n_scored, n - n_scored), interval, shift.floor)
        yield scored("value_shift_p", group.where, shift.p_value, (n_scored, n - n_scored))
    if not known:
        reason = NO_BASELINE if not counts[0].any() else main_reason(answers.reasons[1:])
        yield unscored("value_shift", OVERALL, reason, len(groups))
        return
    mean = float(np.mean([shift.tvd for shift in known.values()]))
    floor = float(np.mean([shift.floor for shift in known.values()]))
    counts_known = (len(known), len(groups) - len(known))
    interval = _shift_interval(study, counts, known)
    yield scored("value_shift", OVERALL, mean, counts_known, interval, floor)


def _shift_interval(study: WorldwiseStudy, counts: IntArray, shifts: dict[int, ValueShift]) -> Interval:
    """Return the interval of the mean shift of some cultures, over scenarios."""
    by_scenario = counts.sum(axis=2).astype(np.float64)  # [C, S, values]
    personas, draws = by_scenario[list(shifts)], (study.params.half_samples, study.params.seed)
    return shift_interval(list(shifts.values()), personas, by_scenario[0], *draws)


def _shift(study: WorldwiseStudy, counts: IntArray, culture: int) -> ValueShift | None:
    scenarios, repetitions = counts.shape[1:3]
    strata = np.repeat(np.arange(scenarios), repetitions)
    persona, baseline = (counts[c].reshape(strata.size, -1) for c in (culture, 0))
    return persona_shift(persona, baseline, strata, strata, study.params.half_samples, study.params.seed)


def _decision_rows(study: WorldwiseStudy, answers: WorldwiseScores) -> Iterator[Metric]:
    """Yield the shares of A, B and Decline among the decisions that could be read."""
    has_one = answers.decisions >= 0
    for i, decision in enumerate(DECISIONS):
        is_it = np.where(has_one, (answers.decisions == i).astype(np.float64), np.nan)
        null = None
        for c, group in enumerate(culture_groups(study)):
            placed = group._replace(where=("culture_decision", f"{group.where[1]}:{decision}"))
            row = mean_row("decision_share", placed, is_it, answers.reasons, null, SHARE)
            yield row
            null = null if c else row.value


PERMUTATIONS = 99
"""Number of permutations of personas for the p-value of recognition; each costs as much as the score itself.
"""

TOO_FEW = "recognition needs at least two cultures with answers to five scenarios"
OWN_LANGUAGES = "personas are prompted in their own languages, which reveal them"


def projection_rows(study: WorldwiseStudy, space: Space, answers: WorldwiseScores) -> Iterator[Metric]:
    """Yield the mean score of each culture's answers on every dimension, also those that no scenario is
    about; the null is the scenarios' own texts.
    """
    for d, dimension in enumerate(study.content.dimensions):
        null = mean_of(space.scenario_scores[:, d])
        for group in culture_groups(study):
            where = ("culture_dimension", f"{group.where[1]}:{dimension.dimension}")
            placed = group._replace(where=where)
            yield mean_row("projection", placed, answers.scores[..., d], answers.reasons, null)


def recognition_rows(study: WorldwiseStudy, answers: WorldwiseScores) -> Iterator[Metric]:
    """Yield how well personas are recognised from explanations without place names, and how varied
    explanations are.
    """
    texts = answers.explanations[1:]
    culture, scenario, _ = at = np.nonzero(texts != "")
    result, reason = None, OWN_LANGUAGES
    if study.params.persona_language == "en":
        words = bare_words(texts[at].tolist(), study.content.place_names)
        result = persona_recognition(words, culture, scenario, PERMUTATIONS, study.params.seed)
        reason = TOO_FEW if culture.size else main_reason(answers.reasons[1:])
    rows = {int(c): row for row, c in enumerate(result.cultures, start=1)} if result else {}
    slices = [(OVERALL, texts.size, 0 if result else None)]
    slices += [(g.where, texts[0].size, rows.get(c)) for c, g in enumerate([*culture_groups(study)][1:])]
    for where, size, row in slices:
        p_value = ["persona_recognition_p"] if where == OVERALL else []
        if result is None or row is None:
            for metric in ("persona_recognition", "answer_variety", *p_value):
                yield unscored(metric, where, reason, size)
            continue
        n = int(result.n[row - 1] if row else result.n.sum())
        counts, value, variety = (n, size - n), float(result.value[row]), float(result.variety[row])
        between = float(result.between[row])
        yield scored("persona_recognition", where, value, counts, result.intervals[row], 0.0)
        yield scored("answer_variety", where, variety, counts, result.variety_intervals[row], between)
        for metric in p_value:
            yield scored(metric, where, result.p_value, counts)


def stereotype_rows(study: WorldwiseStudy, answers: WorldwiseScores) -> Iterator[Metric]:
    """Yield mean counts of listed phrases in explanations or whole responses, including those without a
    persona; the null is the scenarios' own texts. Yields nothing if phrases are not to be counted.
    """
    m, rule = study.content, study.params.stereotype_rule
    if rule == "off":
        return
    own_texts = answers.responses if rule == "program" else answers.explanations
    texts = own_texts.ravel().tolist() + [scenario_text(scenario) for scenario in m.scenarios]
    scores = stereotype_scores(texts, m.stereotypes, "words" if rule == "words" else "substring")
    points = np.array([np.nan if score is None else score.score for score in scores])
    own, null = points[: answers.explanations.size], mean_of(points[answers.explanations.size :])
    everything = CultureGroup(OVERALL, np.arange(len(m.cultures)), np.arange(len(m.scenarios)))
    for group in (everything, *culture_groups(study)):
        values = own.reshape(answers.explanations.shape)
        yield mean_row("stereotype_score", group, values, answers.reasons, null)


def count_rows(study: WorldwiseStudy, answers: WorldwiseScores) -> Iterator[Metric]:
    """Yield rows that count scored answers, unscored ones by reason, answers cut by the embedder, and
    tokens.
    """
    n = answers.reasons.size
    is_scored = (answers.reasons == "").astype(np.float64)
    scenarios = np.broadcast_to(np.arange(answers.reasons.shape[1])[None, :, None], answers.reasons.shape)
    interval = mean_interval(is_scored.ravel(), scenarios.ravel(), SHARE)
    yield scored("answered", OVERALL, float(is_scored.mean()), (n, 0), interval)
    for reason, count in sorted(Counter(answers.reasons[answers.reasons != ""].tolist()).items()):
        yield scored("unscored_answers", ("reason", reason), count, (n, 0))
    n_read = int((answers.decisions >= 0).sum())
    reason = main_reason(answers.reasons)
    if n_read:
        yield scored("truncated_texts", OVERALL, int(answers.truncated.sum()), (n_read, n - n_read))
    else:
        yield unscored("truncated_texts", OVERALL, reason, n)
    if answers.n_tokens is None:
        yield unscored("total_tokens", OVERALL, reason, n)
    else:
        yield scored("total_tokens", OVERALL, answers.n_tokens, (n, 0))


FACTORS = ("scenario", "persona", "model", RESIDUAL)
ONE_LEVEL = "there is one {} only"

Alignments = Mapping[str, FloatArray]
"""model -> [C, S, R] alignment, NaN where unscored and for the baseline"""


def culture_rows(study: WorldwiseStudy, placed: Placed) -> list[Metric]:
    """Return the test of alignment over cultures, and every pair's difference: first less second."""
    cultures = study.content.cultures
    tables = {cultures[c].culture: placed.alignment[c] for c in range(1, len(cultures))}
    rows = list(_test_rows(study, "culture", tables))
    for test in pair_tests(tables, study.params.reproduce):
        rows += _pair_rows("culture", f"{test.first}:{test.second}", test, tables)
    return rows


def cross_model_rows(study: WorldwiseStudy, alignments: Alignments) -> dict[str, list[Metric]]:
    """Return the sources of variance, the test over models, and this model's difference from each other
    model.
    """
    shared = list(_variance_rows({model: alignments[model][1:] for model in sorted(alignments)}))
    # [scenarios, cultures and repetitions]
    tables = {m: np.moveaxis(alignments[m][1:], 1, 0).reshape(study.shape[1], -1) for m in sorted(alignments)}
    shared += _test_rows(study, "model", tables)
    rows = {model: list(shared) for model in tables}
    for test in pair_tests(tables, study.params.reproduce):
        rows[test.first] += _pair_rows("model", test.second, test, tables)
        rows[test.second] += _pair_rows("model", test.first, _turned(test), tables)
    return rows


def _variance_rows(tables: Alignments) -> Iterator[Metric]:
    """Yield shares of the variance of alignment over all models together."""
    stacked = np.stack(list(tables.values()))
    model, culture, scenario, _ = known = np.nonzero(~np.isnan(stacked))
    labels = {"scenario": scenario, "persona": culture, "model": model}
    counts = (len(model), stacked.size - len(model))
    reason, shares = "no answer was scored", {}
    if len(model):
        split = crossed_variance(stacked[known], labels)
        reason, shares = split.reason or "", split.shares
    for factor in FACTORS:
        metric = f"variance_{factor}"
        if factor in shares:
            yield scored(metric, OVERALL, shares[factor], counts)
        else:
            yield unscored(metric, OVERALL, reason or ONE_LEVEL.format(factor), stacked.size)


def _test_rows(study: WorldwiseStudy, what: str, tables: Alignments) -> Iterator[Metric]:
    test = group_test(tables, study.params.reproduce)
    n, n_known = _sizes(*tables.values())
    values = {"anova_f": test.f, "anova_p": test.p_value, "eta_squared": test.eta_squared}
    for name, value in values.items():
        if value is None:
            yield unscored(f"{what}_{name}", OVERALL, test.reason or "", n)
        else:
            yield scored(f"{what}_{name}", OVERALL, value, (n_known, n - n_known))


def _pair_rows(what: str, name: str, test: PairTest, tables: Alignments) -> Iterator[Metric]:
    """Yield the difference of means, Bonferroni's p and Cohen's d of one pair."""
    where = (f"{what}_pair", name)
    first, second = tables[test.first], tables[test.second]
    n, n_known = _sizes(first, second)
    values = {"difference": test.mean_difference, "difference_p": test.p_bonferroni, "cohens_d": test.d}
    for metric, value in values.items():
        null = None if metric == "difference_p" else 0.0
        if value is None:
            yield unscored(f"{what}_{metric}", where, test.reason or "", n, null)
        else:
            interval = _interval(first, second) if metric == "difference" else None
            yield scored(f"{what}_{metric}", where, value, (n_known, n - n_known), interval, null)


def _interval(first: FloatArray, second: FloatArray) -> Interval:
    """Return the jackknife's interval of the difference of two means, over scenarios."""
    (one, rest_of_one), (other, rest_of_other) = _left_out_means(first), _left_out_means(second)
    return jackknife_interval(one - other, rest_of_one - rest_of_other)


def _left_out_means(table: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean of a table, and [scenarios] the means without each scenario, NaN without values."""
    known = ~np.isnan(table)
    mean = float(table[known].mean())
    away = np.where(known, table - mean, 0.0).sum(axis=1)
    n_left = known.sum() - known.sum(axis=1)
    rest = np.full(len(table), np.nan)
    return mean, mean + np.divide(away.sum() - away, n_left, out=rest, where=n_left > 0)


def _turned(test: PairTest) -> PairTest:
    """Return the same test with its sides exchanged."""
    difference, t, d = (None if v is None else -v for v in (test.mean_difference, test.t, test.d))
    return replace(test, first=test.second, second=test.first, mean_difference=difference, t=t, d=d)


def _sizes(*tables: FloatArray) -> tuple[int, int]:
    """Return the number of samples, and of those with a value."""
    return sum(t.size for t in tables), sum(int((~np.isnan(t)).sum()) for t in tables)
