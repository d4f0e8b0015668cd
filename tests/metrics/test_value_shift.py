from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.types import FloatArray
from tasks.metrics.value_shift import (
    ValueShift,
    choice_counts,
    persona_shift,
    shift_interval,
    total_variation,
    value_shares,
)

Counts = st.lists(st.integers(0, 50), min_size=1, max_size=6)


# --- counts and distance


@given(st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_choices_are_counted_by_response(choices: list[list[int]]) -> None:
    assert choice_counts(np.empty((0, 3)), 4).shape == (0, 4)
    assert choice_counts(choices, 5).tolist() == [[row.count(v) for v in range(5)] for row in choices]


def test_choices_outside_the_list_are_refused() -> None:
    for wrong in (-2, 4):
        with pytest.raises(ValueError, match="outside the 4 values"):
            choice_counts([[0, wrong]], 4)
    with pytest.raises(ValueError, match="responses x positions"):
        choice_counts([0, 1], 4)


def test_hand_calculation_gives_shares() -> None:
    np.testing.assert_array_equal(
        value_shares(np.array([[1.0, 0], [3, 1], [0, 0]])), [[1, 0], [0.75, 0.25], [np.nan] * 2]
    )


@given(Counts, st.data())
def test_total_variation_is_bounded_symmetric_and_the_largest_difference(
    left: list[int], data: st.DataObject
) -> None:
    right = data.draw(st.lists(st.integers(0, 50), min_size=len(left), max_size=len(left)))
    distance = total_variation(left, right)
    if distance is None:
        assert not (any(left) and any(right))
        return
    assert 0 <= distance <= 1
    assert distance == total_variation(right, left)
    order = data.draw(st.permutations(range(len(left))))
    shuffled = total_variation([left[i] for i in order], [right[i] for i in order])
    assert shuffled == pytest.approx(distance, abs=1e-12)
    # The distance equals the largest difference over all sets of values.
    one, other = np.array(left) / sum(left), np.array(right) / sum(right)
    sets = np.array(list(product([0, 1], repeat=len(left))))
    assert distance == pytest.approx(float((sets @ (one - other)).max()), abs=1e-12)


def test_total_variation_is_none_without_counts_and_refuses_wrong_counts() -> None:
    assert total_variation([0, 0], [0, 2]) is None
    with pytest.raises(ValueError, match="one length"):
        total_variation([1, 2], [1, 2, 3])
    for wrong in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="negative or not finite"):
            total_variation([1, 2], [1, wrong])


# --- noise floor


def all_relabellings(persona: np.ndarray, baseline: np.ndarray, strata: np.ndarray) -> list[float]:
    """Return the distances under every relabelling within strata, with repetitions."""
    pooled = np.concatenate([persona, baseline])
    own = np.arange(len(pooled)) < len(persona)
    found = []
    for labels in product([True, False], repeat=len(pooled)):
        chosen = np.array(labels)
        if all(chosen[strata == s].sum() == own[strata == s].sum() for s in set(strata.tolist())):
            distance = total_variation(pooled[chosen].sum(axis=0), pooled[~chosen].sum(axis=0))
            assert distance is not None
            found.append(distance)
    return found


@pytest.mark.parametrize("strata", [[0] * 8, [0, 0, 1, 1, 0, 0, 1, 1]])
def test_the_noise_floor_is_the_mean_over_all_relabellings(strata: list[int]) -> None:
    rng = np.random.default_rng(4)
    counts = choice_counts(rng.integers(0, 4, (8, 3)), 4)
    persona, baseline = counts[:4], counts[4:]
    every = np.array(all_relabellings(persona, baseline, np.array(strata)))
    # 8 over 4, or 4 over 2 in each of two strata.
    assert every.size == (70 if len(set(strata)) == 1 else 36)
    shift = persona_shift(persona, baseline, strata[:4], strata[4:], 20_000, seed=0)
    assert shift is not None
    assert shift.tvd == total_variation(persona.sum(axis=0), baseline.sum(axis=0))
    # Five standard errors of the mean and of the share.
    assert shift.floor == pytest.approx(every.mean(), abs=5 * every.std() / 20_000**0.5)
    exact_p = float((every >= shift.tvd - 1e-12).mean())
    assert shift.p_value == pytest.approx(exact_p, abs=5 * 0.5 / 20_000**0.5)


def test_scenarios_of_one_side_are_not_relabelled() -> None:
    # Each scenario has one response, so nothing can be exchanged and the floor equals the observed distance.
    shift = persona_shift([[3, 0], [0, 3]], [[1, 2]], ["a", "b"], ["c"], 50, seed=0)
    assert shift is not None
    # Shares 1/2, 1/2 against 1/3, 2/3.
    assert shift.tvd == pytest.approx(1 / 6)
    assert shift.floor == pytest.approx(shift.tvd)
    assert shift.p_value == 1


def test_values_of_single_scenarios_do_not_raise_the_floor() -> None:
    # Scenario a always gets value 0, scenario b value 1; persona and baseline answer alike. Within scenarios
    # chance moves nothing; relabelled freely it does.
    counts = np.array([[3, 0], [3, 0], [0, 3], [0, 3]])
    within = persona_shift(counts, counts, list("aabb"), list("aabb"), 200, seed=0)
    freely = persona_shift(counts, counts, [0] * 4, [0] * 4, 200, seed=0)
    assert within is not None
    assert freely is not None
    assert (within.tvd, within.floor, within.p_value) == (0, 0, 1)
    assert freely.floor > 0.1


def test_responses_without_a_value_are_ignored() -> None:
    rng = np.random.default_rng(2)
    counts = choice_counts(rng.integers(0, 4, (10, 3)), 4)
    strata = np.arange(10) % 2
    plain = persona_shift(counts[:5], counts[5:], strata[:5], strata[5:], 300, seed=0)
    empty = np.zeros((1, 4))
    padded = persona_shift(
        np.vstack([counts[:5], empty]), counts[5:], [*strata[:5], 0], strata[5:], 300, seed=0
    )
    assert plain == padded
    assert persona_shift(empty, counts, [0], strata, 10, seed=0) is None
    assert persona_shift(counts, empty, strata, [0], 10, seed=0) is None


def test_persona_shift_ignores_the_order_of_values_and_repeats_by_seed() -> None:
    rng = np.random.default_rng(3)
    counts, strata = choice_counts(rng.integers(0, 4, (12, 3)), 4), np.arange(12) % 3
    sides = (strata[:6], strata[6:])
    first = persona_shift(counts[:6], counts[6:], *sides, 200, seed=5)
    assert first == persona_shift(counts[:6], counts[6:], *sides, 200, seed=5)
    assert first == pytest.approx(persona_shift(counts[:6, ::-1], counts[6:, ::-1], *sides, 200, seed=5))
    other = persona_shift(counts[:6], counts[6:], *sides, 200, seed=6)
    assert first is not None
    assert other is not None
    assert first.floor != other.floor


def test_persona_shift_refuses_wrong_shapes_and_replicates() -> None:
    with pytest.raises(ValueError, match="one stratum for each row"):
        persona_shift([[1, 0]], [[1, 0]], [0, 1], [0], 10, seed=0)
    with pytest.raises(ValueError, match="persona counts 2 values and baseline 3"):
        persona_shift([[1, 0]], [[1, 0, 0]], [0], [0], 10, seed=0)
    with pytest.raises(ValueError, match="0 replicates"):
        persona_shift([[1, 0]], [[1, 0]], [0], [0], 0, seed=0)
    assert persona_shift([[1, 0]], [[1, 0]], [0], [0], 1, seed=0).tvd == 0  # one replicate is enough


# --- intervals


def counted(rng: np.random.Generator, scenarios: int, shift: float) -> tuple[FloatArray, FloatArray]:
    """Return counts of baseline and persona, [scenarios, values], of three answers with three values each."""
    base, push = np.random.default_rng(3).normal(0, 1, 20), np.random.default_rng(4).normal(0, 1, 20)
    own = rng.normal(0, 1.2, (scenarios, 20))
    sides = [base + own, base + own + shift * push]
    shares = [np.exp(side) / np.exp(side).sum(axis=1, keepdims=True) for side in sides]
    first, second = (np.array([rng.multinomial(9, p) for p in share]).astype(float) for share in shares)
    return first, second


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_interval_of_a_shift_has_its_coverage_despite_the_bias(shift: float) -> None:
    rng = np.random.default_rng(5)
    truth = total_variation(*(side.sum(axis=0) for side in counted(rng, 20_000, shift)))
    assert truth is not None
    covered, estimates = [], []
    for seed in range(60):
        baseline, persona = counted(rng, 20, shift)
        strata = np.arange(20)
        shifted = persona_shift(persona, baseline, strata, strata, 100, seed)
        assert shifted is not None
        ends = shift_interval([shifted], persona[None], baseline, 60, 0)
        assert ends is not None
        assert 0 <= ends[0] <= shifted.tvd <= ends[1] <= 1
        estimates.append(shifted.tvd)
        covered.append(ends[0] <= truth <= ends[1])
    assert np.mean(estimates) > truth
    assert np.mean(covered) > 0.9


def test_fewer_than_five_scenarios_have_no_interval_of_a_shift() -> None:
    shift = ValueShift(0.5, 0.1, 0.01, 4, 4)
    for scenarios in (1, 4):
        baseline, persona = counted(np.random.default_rng(0), scenarios, 1.0)
        assert shift_interval([shift], persona[None], baseline, 10, 0) is None


def test_scenarios_that_nearly_agree_have_a_narrow_interval_above_zero() -> None:
    """Every half of them has nearly the distance of the whole, so there is next to no bias."""
    shift = ValueShift(14 / 32, 0.1, 0.01, 8, 8)
    baseline, persona = np.tile([4.0, 0.0], (8, 1)), np.array([[2.0, 2.0]] * 6 + [[3.0, 1.0]] * 2)
    ends = shift_interval([shift], persona[None], baseline, 20, 0)
    assert ends is not None
    assert 0.25 < ends[0] < 14 / 32 < ends[1] < 0.6
