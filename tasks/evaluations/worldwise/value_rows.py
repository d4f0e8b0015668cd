"""Which values and decisions a model names, and how far a persona moves its values. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.evaluations.worldwise.groups import culture_groups, mean_row
from tasks.evaluations.worldwise.requests import DECISIONS, N_VALUES, Study
from tasks.evaluations.worldwise.scores import Scored
from tasks.loop.rows import OVERALL, Metric, main_reason, scored, unscored
from tasks.metrics.intervals import SHARE, jackknife_interval
from tasks.metrics.types import IntArray, Interval
from tasks.metrics.value_shift import ValueShift, choice_counts, persona_shift, shift_interval, value_shares

NO_BASELINE = "the baseline has no values to compare with"


def value_rows(study: Study, scored_answers: Scored) -> list[Metric]:
    """value_share, value_shift, value_shift_p and decision_share of one model."""
    counts = _counts(study, scored_answers)
    return [
        *_share_rows(study, scored_answers, counts),
        *_shift_rows(study, scored_answers, counts),
        *_decision_rows(study, scored_answers),
    ]


def _counts(study: Study, scored_answers: Scored) -> IntArray:
    """[C, S, R, values] how often each answer names each value."""
    flat = scored_answers.choices.reshape(-1, N_VALUES)
    n_values = len(study.content.values)
    return choice_counts(flat, n_values).reshape(*scored_answers.decisions.shape, n_values)


def _share_rows(study: Study, scored_answers: Scored, counts: IntArray) -> Iterator[Metric]:
    """Share of each value among those that a culture names; points are values named."""
    total = counts.sum(axis=(1, 2))
    baseline = total[0] / total[0].sum() if total[0].any() else None
    for c, group in enumerate(culture_groups(study)):
        n = N_VALUES * scored_answers.decisions[c].size
        n_named = int(total[c].sum())
        left_out = value_shares(total[c] - counts[c].sum(axis=1))  # without one scenario after another
        for v, value in enumerate(study.content.values):
            where = ("culture_value", f"{group.where[1]}:{value.value}")
            null = float(baseline[v]) if c and baseline is not None else None
            if not n_named:
                yield unscored("value_share", where, main_reason(scored_answers.reasons[c]), n, null)
                continue
            share = float(total[c, v] / n_named)
            interval = jackknife_interval(share, left_out[:, v], SHARE)
            yield scored("value_share", where, share, (n_named, n - n_named), interval, null)


def _shift_rows(study: Study, scored_answers: Scored, counts: IntArray) -> Iterator[Metric]:
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
        interval = _shift_interval(study, counts, {c: shift})
        yield scored("value_shift", group.where, shift.tvd, (n_scored, n - n_scored), interval, shift.floor)
        yield scored("value_shift_p", group.where, shift.p_value, (n_scored, n - n_scored))
    if not known:
        reason = NO_BASELINE if not counts[0].any() else main_reason(scored_answers.reasons[1:])
        yield unscored("value_shift", OVERALL, reason, len(groups))
        return
    mean = float(np.mean([shift.tvd for shift in known.values()]))
    floor = float(np.mean([shift.floor for shift in known.values()]))
    counts_known = (len(known), len(groups) - len(known))
    interval = _shift_interval(study, counts, known)
    yield scored("value_shift", OVERALL, mean, counts_known, interval, floor)


def _shift_interval(study: Study, counts: IntArray, shifts: dict[int, ValueShift]) -> Interval:
    """Of the mean shift of some cultures, over scenarios."""
    by_scenario = counts.sum(axis=2).astype(np.float64)  # [C, S, values]
    personas, draws = by_scenario[list(shifts)], (study.params.half_samples, study.params.seed)
    return shift_interval(list(shifts.values()), personas, by_scenario[0], *draws)


def _shift(study: Study, counts: IntArray, culture: int) -> ValueShift | None:
    scenarios, repetitions = counts.shape[1:3]
    strata = np.repeat(np.arange(scenarios), repetitions)
    persona, baseline = (counts[c].reshape(strata.size, -1) for c in (culture, 0))
    return persona_shift(persona, baseline, strata, strata, study.params.half_samples, study.params.seed)


def _decision_rows(study: Study, scored_answers: Scored) -> Iterator[Metric]:
    """Share of A, B and Decline among the decisions that could be read."""
    has_one = scored_answers.decisions >= 0
    for i, decision in enumerate(DECISIONS):
        is_it = np.where(has_one, (scored_answers.decisions == i).astype(np.float64), np.nan)
        null = None
        for c, group in enumerate(culture_groups(study)):
            placed = group._replace(where=("culture_decision", f"{group.where[1]}:{decision}"))
            row = mean_row("decision_share", placed, is_it, scored_answers.reasons, null, SHARE)
            yield row
            null = null if c else row.value
