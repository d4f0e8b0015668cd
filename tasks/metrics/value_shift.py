"""Counts of chosen values, their shift by a persona, and the shift expected by chance.

Source: WorldWise (2024), sections 2.3 D, 4.5 and 4.9. It has distances in percentage points and no noise
floor: two samples of the same distribution differ too, and more with fewer answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.metrics.intervals import half_samples, jackknife_interval
from tasks.metrics.types import BoolArray, FloatArray, IntArray, Interval

_Labels: TypeAlias = NDArray[np.generic]

# Distances that differ only by rounding are equal.
_ROUNDING = 1e-12


class ValueShift(NamedTuple):
    """Distance of a persona's values from the baseline's, with the distance expected by chance.

    tvd: observed distance, range [0, 1]; floor: mean over random relabellings; p_value: share of relabellings
    with at least this distance, the observed one included (never 0); n_persona, n_baseline: responses with a
    value.
    """

    tvd: float
    floor: float
    p_value: float
    n_persona: int
    n_baseline: int


def choice_counts(choices: ArrayLike, n_values: int) -> IntArray:
    """Return the number of times that each response chose each value.

    choices: n x c positions in the list of values, -1 for none. Returns n x n_values counts; summed over the
    rows they are the counts of a culture (section 4.9). Raises ValueError for a position outside the list.
    """
    codes = np.asarray(choices, dtype=np.intp)
    if codes.ndim != 2:
        raise ValueError(f"choices must be responses x positions, got shape {codes.shape}")
    if codes.size and not -1 <= codes.min() <= codes.max() < n_values:
        raise ValueError(f"a choice lies outside the {n_values} values; write -1 for none")
    row, column = np.nonzero(codes >= 0)
    flat = np.bincount(row * n_values + codes[row, column], minlength=len(codes) * n_values)
    return flat.reshape(len(codes), n_values)


def total_variation(left: ArrayLike, right: ArrayLike) -> float | None:
    """Total variation distance of two count vectors: half the sum of |share - share| (section 2.3 D).

    left, right: v counts each. Range [0, 1]; 0: the same shares; 1: no value in common. Times 100 it is in
    the paper's percentage points. Symmetric. None if all counts of a side are 0. Raises ValueError for a
    negative or not finite count or different lengths.
    """
    left_counts, right_counts = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left_counts.ndim != 1 or left_counts.shape != right_counts.shape:
        raise ValueError(
            f"expected two vectors of one length, got shapes {left_counts.shape} and {right_counts.shape}"
        )
    for counts in (left_counts, right_counts):
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("a count is negative or not finite")
    if not (left_counts.any() and right_counts.any()):
        return None
    return float(_distances(left_counts, right_counts))


def persona_shift(
    persona: ArrayLike,
    baseline: ArrayLike,
    persona_strata: ArrayLike,
    baseline_strata: ArrayLike,
    replicates: int,
    seed: int,
) -> ValueShift | None:
    """Total variation distance of a persona's values from the baseline's, with its permutation noise floor.

    persona, baseline: counts from `choice_counts`, n x v and m x v; strata: scenario of each of their
    responses. Whole responses are relabelled, because the values of one answer are related, and only within
    their scenario, because scenarios evoke different values. (One stratum for all relabels freely: that floor
    includes the scenarios' differences and is too high.) None if a side has no value.

    Replicates are drawn by a generator of its own (PCG64): the floor depends on the seed and the order of the
    responses, not on the order of the values. Memory: replicates x (n + m). Raises ValueError for shapes that
    do not fit.
    """
    persona_side, baseline_side = (
        _checked_side(persona, persona_strata),
        _checked_side(baseline, baseline_strata),
    )
    if persona_side[0].shape[1] != baseline_side[0].shape[1]:
        raise ValueError(
            f"persona counts {persona_side[0].shape[1]} values and baseline {baseline_side[0].shape[1]}"
        )
    observed = total_variation(persona_side[0].sum(axis=0), baseline_side[0].sum(axis=0))
    if observed is None:
        return None
    pooled, strata = (
        np.concatenate([persona_side[0], baseline_side[0]]),
        np.concatenate([persona_side[1], baseline_side[1]]),
    )
    is_persona = np.arange(len(pooled)) < len(persona_side[0])
    counts = _relabel(is_persona, strata, replicates, seed).astype(np.float64) @ pooled
    random = _distances(counts, pooled.sum(axis=0) - counts)
    as_far = np.count_nonzero(random >= observed - _ROUNDING)
    return ValueShift(
        tvd=observed,
        floor=float(random.mean()),
        p_value=(1 + as_far) / (1 + replicates),
        n_persona=len(persona_side[0]),
        n_baseline=len(baseline_side[0]),
    )


def value_shares(counts: FloatArray) -> FloatArray:
    """Return counts [..., v] as shares along the last axis; NaN if all are 0."""
    total = counts.sum(axis=-1, keepdims=True)
    shares: FloatArray = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return shares


def shift_interval(
    shifts: Sequence[ValueShift], personas: FloatArray, baseline: FloatArray, replicates: int, seed: int
) -> Interval:
    """Return the 95 % interval, over scenarios, of the personas' mean total variation distance from baseline.

    shifts: the personas' shifts; personas: [personas, scenarios, v] counts; baseline: [scenarios, v] counts;
    replicates, seed: for `intervals.half_samples` of the scenarios. The distance of two samples is biased
    upwards, by a bias that falls with the root of the number of answers: it is 1 / (sqrt 2 - 1) times the
    increase on half of the scenarios. The lower end is lowered by this bias, and to 0 for a persona whose
    shift is not significant (p_value over 0.025). None for fewer than five scenarios, or if a side has no
    values without one of them.
    """

    def distances(persona_counts: FloatArray, baseline_counts: FloatArray) -> FloatArray:
        difference = np.abs(value_shares(persona_counts) - value_shares(baseline_counts))
        distance: FloatArray = difference.sum(axis=-1) / 2
        return distance

    tvd = np.array([shift.tvd for shift in shifts])
    values_left_out = distances(
        personas.sum(axis=1)[:, None] - personas, baseline.sum(axis=0) - baseline
    ).mean(axis=0)
    ends = jackknife_interval(float(tvd.mean()), values_left_out)
    if ends is None:
        return None
    halves = half_samples(baseline.shape[0], replicates, seed)
    half_distances = np.array(
        [distances(counts[halves].sum(axis=1), baseline[halves].sum(axis=1)) for counts in personas]
    )
    bias = np.maximum(np.nanmean(half_distances, axis=1) - tvd, 0.0) / (math.sqrt(2) - 1)
    is_chance = [shift.p_value > 0.025 for shift in shifts]
    low = ends[0] - float(np.where(is_chance, tvd, bias).mean())
    return max(low, 0.0), min(ends[1], 1.0)


def _distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return total variation distances along the last axis, [..., v]; neither side may be all 0."""
    left_shares = left / left.sum(axis=-1, keepdims=True)
    right_shares = right / right.sum(axis=-1, keepdims=True)
    distances = 0.5 * np.abs(left_shares - right_shares).sum(axis=-1)
    # Rounding may give 1 + 1e-16 for sides without a value in common.
    return np.minimum(np.asarray(distances, dtype=np.float64), 1.0)


def _checked_side(counts: ArrayLike, strata: ArrayLike) -> tuple[FloatArray, _Labels]:
    """Return counts and strata of the responses that chose a value; else ValueError."""
    table, labels = np.asarray(counts, dtype=np.float64), np.asarray(strata)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise ValueError(f"counts of shape {table.shape} need one stratum for each row, got {labels.shape}")
    answered = table.any(axis=1)
    return table[answered], labels[answered]


def _relabel(is_persona: BoolArray, strata: _Labels, replicates: int, seed: int) -> BoolArray:
    """Return random labels, replicates x n, with as many personas in each stratum as in `is_persona`."""
    if replicates < 1:
        raise ValueError(f"{replicates} replicates: a noise floor needs at least one")
    code = np.unique(strata, return_inverse=True)[1]
    generator = np.random.Generator(np.random.PCG64(seed))
    # Sorting stratum + a random fraction shuffles within strata and leaves the strata in order.
    order = np.argsort(code + generator.random((replicates, code.size)), axis=1)
    labels = np.empty(order.shape, dtype=np.bool_)
    in_order = is_persona[np.argsort(code, kind="stable")]
    np.put_along_axis(labels, order, np.broadcast_to(in_order, order.shape), axis=1)
    return labels
