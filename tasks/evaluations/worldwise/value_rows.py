"""Which values and decisions a model names, and how far a persona moves its values. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.evaluations.worldwise.groups import Group, culture_groups, knobs_of, main_reason
from tasks.evaluations.worldwise.questions import DECISIONS, N_VALUES
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.resamples import normal_interval, percentiles, scenario_weights
from tasks.evaluations.worldwise.scores import Scored
from tasks.metric_rows import OVERALL, Metric, scored, unscored
from tasks.metrics.types import FloatArray, IntArray
from tasks.metrics.value_shift import ValueShift, choice_counts, decision_shares, persona_shift

NO_BASELINE = "the baseline has no values to compare with"


def value_rows(study: Study, scored_answers: Scored) -> list[Metric]:
    """value_share, value_shift, value_shift_p and decision_share of one model."""
    counts = _counts(study, scored_answers)
    weights = scenario_weights(study.shape[1], knobs_of(study))
    drawn = None if weights is None else np.einsum("bs,csv->cbv", weights, counts.sum(axis=2))
    rows = list(_share_rows(study, scored_answers, counts, drawn))
    rows += _shift_rows(study, scored_answers, counts, drawn)
    rows += _decision_rows(study, scored_answers)
    return rows


def _counts(study: Study, scored_answers: Scored) -> IntArray:
    """[C, S, R, values] how often each answer names each value."""
    flat = scored_answers.choices.reshape(-1, N_VALUES)
    n_values = len(study.content.values)
    return choice_counts(flat, n_values).reshape(*scored_answers.decisions.shape, n_values)


def _share_rows(
    study: Study, scored_answers: Scored, counts: IntArray, drawn: FloatArray | None
) -> Iterator[Metric]:
    """Share of each value among those that a culture names; points are values named."""
    total = counts.sum(axis=(1, 2))
    baseline = total[0] / total[0].sum() if total[0].any() else None
    for c, group in enumerate(culture_groups(study)):
        n = N_VALUES * scored_answers.decisions[c].size
        n_named = int(total[c].sum())
        for v, value in enumerate(study.content.values):
            where = ("culture_value", f"{group.where[1]}:{value.value}")
            null = float(baseline[v]) if c and baseline is not None else None
            if not n_named:
                yield unscored("value_share", where, main_reason(scored_answers.reasons[c]), n, null)
                continue
            interval = None if drawn is None else percentiles(_shares(drawn[c])[:, v])
            share = float(total[c, v] / n_named)
            yield scored("value_share", where, share, (n_named, n - n_named), interval, null)


def _shift_rows(
    study: Study, scored_answers: Scored, counts: IntArray, drawn: FloatArray | None
) -> Iterator[Metric]:
    """Total variation distance of each culture's values from the baseline's, and the mean over cultures."""
    groups = list(culture_groups(study))[1:]
    shifts = [_shift(study, counts, c) for c in range(1, len(counts))]
    n = 2 * scored_answers.decisions[0].size  # answers of the persona and of the baseline
    known: dict[int, ValueShift] = {}
    for c, (group, shift) in enumerate(zip(groups, shifts, strict=True), start=1):
        if shift is None:
            reason = main_reason(scored_answers.reasons[c]) if counts[0].any() else NO_BASELINE
            yield unscored("value_shift", group.where, reason, n)
            yield unscored("value_shift_p", group.where, reason, n)
            continue
        known[c] = shift
        n_scored = shift.n_persona + shift.n_baseline
        interval = None if drawn is None else normal_interval(shift.tvd, _distances(drawn, c))
        yield scored("value_shift", group.where, shift.tvd, (n_scored, n - n_scored), interval, shift.floor)
        yield scored("value_shift_p", group.where, shift.p_value, (n_scored, n - n_scored))
    if not known:
        reason = NO_BASELINE if not counts[0].any() else main_reason(scored_answers.reasons[1:])
        yield unscored("value_shift", OVERALL, reason, len(groups))
        return
    mean = float(np.mean([shift.tvd for shift in known.values()]))
    floor = float(np.mean([shift.floor for shift in known.values()]))
    overall = None
    if drawn is not None:
        overall = normal_interval(mean, np.mean([_distances(drawn, c) for c in known], axis=0))
    yield scored("value_shift", OVERALL, mean, (len(known), len(groups) - len(known)), overall, floor)


def _shift(study: Study, counts: IntArray, culture: int) -> ValueShift | None:
    scenarios, repetitions = counts.shape[1:3]
    strata = np.repeat(np.arange(scenarios), repetitions)
    persona, baseline = (counts[c].reshape(strata.size, -1) for c in (culture, 0))
    return persona_shift(persona, baseline, strata, strata, *knobs_of(study))


def _distances(drawn: FloatArray, culture: int) -> FloatArray:
    """[resamples] total variation distance of a culture from the baseline; NaN where a side names nothing."""
    gap: FloatArray = np.abs(_shares(drawn[culture]) - _shares(drawn[0])).sum(axis=1) / 2
    return gap


def _shares(counts: FloatArray) -> FloatArray:
    """[resamples, values] counts as shares; NaN where there are none."""
    total = counts.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return shares


def _decision_rows(study: Study, scored_answers: Scored) -> Iterator[Metric]:
    """Share of A, B and Decline with Wilson's interval."""
    tables = [_decisions(group, scored_answers) for group in culture_groups(study)]
    baseline = decision_shares(tables[0])
    for c, (group, table) in enumerate(zip(culture_groups(study), tables, strict=True)):
        n, shares = scored_answers.decisions[c].size, decision_shares(table)
        for decision in DECISIONS:
            where = ("culture_decision", f"{group.where[1]}:{decision}")
            null = baseline[decision].share if c and baseline else None
            if shares is None:
                reason = main_reason(scored_answers.reasons[c])
                yield unscored("decision_share", where, reason, n, null)
            else:
                s = shares[decision]
                yield scored("decision_share", where, s.share, (s.n, n - s.n), (s.low, s.high), null)


def _decisions(group: Group, scored_answers: Scored) -> dict[str, int]:
    decisions = group.of(scored_answers.decisions)
    return {decision: int((decisions == i).sum()) for i, decision in enumerate(DECISIONS)}
