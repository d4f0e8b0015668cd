from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.ranks import bootstrap, contains, equal_boards, flips, holm_t, shares
from tasks.metrics.comparison import holm, mean_difference
from tasks.metrics.ranks import FEW, PairTests, RankSet, can_separate, mean_pair_tests, rank_sets

NAN = float("nan")


# --- rank sets


def test_hand_calculation_of_rank_sets() -> None:
    # Three pairs; Holm: 0.01 x 3 = 0.03 and 0.02 x 2 = 0.04 are below 0.05, 0.3 is not.
    difference = [[0.0, 0.1, 0.4], [-0.1, 0.0, 0.3], [-0.4, -0.3, 0.0]]
    p = [[1.0, 0.3, 0.01], [0.3, 1.0, 0.02], [0.01, 0.02, 1.0]]
    assert rank_sets(difference, p) == [RankSet(1, 2), RankSet(1, 2), RankSet(3, 3)]
    assert rank_sets(-np.array(difference), p) == [RankSet(2, 3), RankSet(2, 3), RankSet(1, 1)]


def test_a_pair_without_a_test_separates_nothing_and_counts_in_the_correction() -> None:
    # 0.02 x 3 pairs = 0.06, although only one pair has a test.
    difference = [[0.0, 0.4, NAN], [-0.4, 0.0, NAN], [NAN, NAN, 0.0]]
    p = [[1.0, 0.02, NAN], [0.02, 1.0, NAN], [NAN, NAN, 1.0]]
    assert rank_sets(difference, p) == [RankSet(1, 3)] * 3
    p[0][1] = p[1][0] = 0.01
    assert rank_sets(difference, p) == [RankSet(1, 2), RankSet(2, 3), RankSet(1, 3)]


def test_boards_of_one_and_of_none() -> None:
    assert rank_sets([[0.0]], [[1.0]]) == [RankSet(1, 1)]
    with pytest.raises(ValueError, match="both k x k"):
        rank_sets([[0.0, 1.0]], [[1.0, 1.0]])
    with pytest.raises(ValueError, match="antisymmetric"):
        rank_sets([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.1], [0.1, 1.0]])


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10_000))
def test_sets_hold_the_observed_order_and_each_rank_is_in_one(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, k)
    p = np.triu(rng.random((k, k)) ** 6, 1)
    sets = rank_sets(values[:, None] - values, p + p.T + np.eye(k))
    order = np.argsort(-values)
    for place, model in enumerate(order, start=1):
        assert sets[model].low <= place <= sets[model].high


# --- tests of pairs


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.7]))
def test_every_pair_is_tested_as_compare_tests_it(seed: int, k: int, n: int, lost: float) -> None:
    """Models whose scores are all equal have a rule of their own; the others have the same p-value."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n), rng.integers(1, 5, n))
    values = rng.integers(0, 4, (clusters.size, k)) / 3
    values[rng.random(values.shape) < lost] = np.nan
    tests = mean_pair_tests(values, np.array([f"c{c}" for c in clusters]))
    for one in range(k):
        for two in range(one + 1, k):
            both = ~np.isnan(values[:, [one, two]]).any(axis=1)
            if not both.any():
                assert np.isnan(tests.difference[one, two])
                assert tests.n_clusters[one, two] == 0
                continue
            expected = mean_difference(values[both, one], values[both, two], clusters[both])
            assert tests.difference[one, two] == pytest.approx(expected.value, abs=1e-12)
            assert tests.difference[two, one] == -tests.difference[one, two]
            assert tests.n_clusters[one, two] == len(set(clusters[both]))
            sides = (np.unique(side[~np.isnan(side)]).size for side in values[:, [one, two]].T)
            if (min(sides) < 2 and expected.p_value != 1) or expected.p_value is None:
                assert np.isnan(tests.p_value[one, two])
            else:
                assert tests.p_value[one, two] == pytest.approx(expected.p_value, rel=1e-9)


def test_scores_that_are_all_equal_are_tested_from_thirty_clusters_on() -> None:
    # All right against three in four right: below 30 answers the first may only have been lucky.
    for n, is_tested in ((FEW - 1, False), (FEW, True)):
        values = np.column_stack([np.ones(n), np.arange(n) % 4 != 0])
        assert np.isfinite(mean_pair_tests(values).p_value[0, 1]) == is_tested


def test_too_few_clusters_separate_nothing() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, (2, 20))
    values = np.column_stack([noise[0], noise[1] + 3])
    few = mean_pair_tests(values, np.arange(20) % 4)
    assert not can_separate(few)
    assert rank_sets(few.difference, few.p_value) == [RankSet(1, 2)] * 2
    some = mean_pair_tests(values, np.arange(20) % 5)
    assert can_separate(some)
    assert rank_sets(some.difference, some.p_value) == [RankSet(2, 2), RankSet(1, 1)]
    assert not can_separate(PairTests.none(3))


def test_the_order_of_items_and_models_changes_no_set() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((60, 5)) + np.arange(5) / 4
    clusters = rng.integers(0, 20, 60)
    items, models = rng.permutation(60), rng.permutation(5)
    one, two = mean_pair_tests(values, clusters), mean_pair_tests(values[items][:, models], clusters[items])
    sets = rank_sets(one.difference, one.p_value)
    assert rank_sets(two.difference, two.p_value) == [sets[model] for model in models]
    assert len(set(sets)) > 1


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="items x models"):
        mean_pair_tests([1.0, 2.0])
    with pytest.raises(ValueError, match="one each"):
        mean_pair_tests([[1.0, 2.0]], [0, 1])


# --- simulation


def test_a_better_model_has_a_rank_of_its_own() -> None:
    rng = np.random.default_rng(3)
    ease = rng.beta(4, 2, (400, 1))
    chance = np.clip(ease + np.array([0.0, 0.0, 0.0, 0.2]), 0, 1)
    sets = holm_sets((rng.random(chance.shape) < chance).astype(float))
    assert sets == [RankSet(2, 4)] * 3 + [RankSet(1, 1)]


def holm_sets(values: np.ndarray) -> list[RankSet]:
    """Return the rank sets of scores [items, models]."""
    tests = mean_pair_tests(values)
    return rank_sets(tests.difference, tests.p_value)


@pytest.mark.heavy
def test_ten_equal_models_are_separated_in_at_most_5_percent_of_200_boards() -> None:
    apart, draws = equal_boards(200)["result"]
    assert draws == 200
    assert apart <= 0.05 * draws


@pytest.mark.heavy
def test_sets_hold_all_true_ranks_in_the_small_simulation() -> None:
    lines = shares(120, clusters=(6, 12))["lines"]
    total = sum(draws for *_, draws in lines)
    held = sum(cells[0][0] * draws for *_, cells, draws in lines)
    assert held / total > 0.94


def test_all_methods_separate_what_is_far_apart() -> None:
    from benchmarks.ranks import Scores

    rng = np.random.default_rng(0)
    goodness = np.array([0.0, 0.0, 1.0])
    scores = Scores(rng.normal(0, 0.3, (40, 3)) + goodness, np.arange(40), goodness)
    for method in (holm_t, bootstrap, flips):
        assert method(scores) == [RankSet(2, 3), RankSet(2, 3), RankSet(1, 1)]
    assert contains([RankSet(2, 3), RankSet(2, 3), RankSet(1, 1)], goodness)
    assert not contains([RankSet(2, 2), RankSet(3, 3), RankSet(1, 1)], goodness)
    assert holm([0.01, 0.04]).tolist() == [0.02, 0.04]
