from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from tasks.metrics.ranking import (
    average_precision,
    expected_average_precision,
    frequency_scores,
    seed_dumb_average_precision,
    top_mask,
    top_ranked,
)

# Few distinct scores, so that most rankings have ties; the first candidate is made relevant if none is.
SCORE = st.one_of(st.integers(0, 3).map(float), st.just(-math.inf))


@st.composite
def rankings(draw: st.DrawFn, max_size: int = 12) -> tuple[list[float], list[bool]]:
    pairs = draw(st.lists(st.tuples(SCORE, st.booleans()), min_size=1, max_size=max_size))
    relevant = [flag for _, flag in pairs]
    return [score for score, _ in pairs], relevant if any(relevant) else [True, *relevant[1:]]


def strict_ap(order: tuple[int, ...] | list[int], relevant: list[bool]) -> float:
    """Return equation 4 as printed, for candidates in this order."""
    hits, total = 0, 0.0
    for rank, candidate in enumerate(order, start=1):
        if relevant[candidate]:
            hits += 1
            total += hits / rank
    return total / hits


def ap_over_all_orders(scores: list[float], relevant: list[bool]) -> float:
    """Return mean of `strict_ap` over every order that the scores allow."""
    groups = [[i for i, s in enumerate(scores) if s == value] for value in sorted(set(scores), reverse=True)]
    orders = product(*(permutations(group) for group in groups))
    return float(np.mean([strict_ap([i for part in order for i in part], relevant) for order in orders]))


# --- average precision


def test_hand_calculation_gives_average_precision_of_ties() -> None:
    # One leads; then a relevant and an irrelevant one are tied at ranks 2 and 3. Relevant second: 1/2; third:
    # 1/3. Mean 5/12.
    assert average_precision([9, 4, 4], [0, 1, 0]) == pytest.approx(5 / 12)
    # Two relevant of three tied. Orders by the place of the irrelevant one: first (1/2 + 2/3) / 2 = 7/12,
    # second (1 + 2/3) / 2 = 10/12, third 1 = 12/12. Mean 29/36.
    assert average_precision([0, 0, 0], [1, 1, 0]) == pytest.approx(29 / 36)


def test_one_ranking_gives_a_float_and_a_table_gives_an_array() -> None:
    assert isinstance(average_precision([2, 1], [True, False]), float)
    table = average_precision([[2, 1], [1, 2]], [[1, 0], [1, 0]])
    assert isinstance(table, np.ndarray)
    assert table.tolist() == [1.0, 0.5]
    assert np.shape(average_precision(np.empty((0, 4)), np.empty((0, 4)))) == (0,)


def test_rows_do_not_mix_where_blocks_meet() -> None:
    # 1,200 relevant candidates times 800 candidates: several blocks, with borders inside of rows.
    rng = np.random.default_rng(1)
    scores = rng.random((300, 800))
    relevant = np.zeros((300, 800), dtype=bool)
    relevant[np.arange(300)[:, None], rng.integers(0, 800, (300, 4))] = True
    expected = [average_precision_score(r, s) for s, r in zip(scores, relevant, strict=True)]
    assert average_precision(scores, relevant) == pytest.approx(expected, rel=1e-12)


@given(rankings(max_size=6))
@settings(deadline=None)
def test_average_precision_is_the_mean_over_all_orders_of_ties(case: tuple[list[float], list[bool]]) -> None:
    assert average_precision(*case) == pytest.approx(ap_over_all_orders(*case), rel=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_untied_average_precision_equals_scikit_learn(relevant: list[bool], random: object) -> None:
    relevant[0] = True
    scores = list(range(len(relevant)))
    random.shuffle(scores)  # type: ignore[attr-defined]
    assert average_precision(scores, relevant) == pytest.approx(average_precision_score(relevant, scores))


def test_ties_at_the_end_of_a_long_ranking_keep_their_digits() -> None:
    # 871 lead, two are tied at ranks 872 and 873, one of them relevant: (1/872 + 1/873) / 2.
    scores, relevant = [1.0] * 871 + [0.0] * 2, [False] * 872 + [True]
    assert average_precision(scores, relevant) == pytest.approx((1 / 872 + 1 / 873) / 2, rel=1e-9)


def test_average_precision_refuses_no_relevant_nan_and_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="row 1 has no relevant candidate"):
        average_precision([[1, 2], [1, 2]], [[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="row 1, 0 has a NaN"):
        average_precision([[[1, 2]], [[1, math.nan]]], [[1, 0]])
    with pytest.raises(ValueError, match="the ranking has no relevant"):
        average_precision([1, 2], [0, 0])
    with pytest.raises(ValueError, match="candidates must match"):
        average_precision([1, 2, 3], [True])
    with pytest.raises(ValueError, match="at least one candidate"):
        average_precision([], [])


# --- a ranking at random


@given(st.lists(st.booleans(), min_size=1, max_size=60), SCORE)
@settings(deadline=None)
def test_a_constant_score_has_the_expected_average_precision(relevant: list[bool], score: float) -> None:
    relevant[0] = True
    value = average_precision([score] * len(relevant), relevant)
    assert value == pytest.approx(float(expected_average_precision(sum(relevant), len(relevant))), rel=1e-12)


@pytest.mark.parametrize(("n_relevant", "n"), [(0, 3), (4, 3)])
def test_expected_average_precision_refuses_impossible_counts(n_relevant: int, n: int) -> None:
    with pytest.raises(ValueError, match="between 1 and n"):
        expected_average_precision(n_relevant, n)


# --- the top


@given(st.lists(SCORE, min_size=1, max_size=12), st.data())
@settings(deadline=None)
def test_the_top_equals_the_head_of_a_stable_sort(scores: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(scores)))
    head = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    assert top_ranked(scores, k).tolist() == head
    assert np.flatnonzero(top_mask(scores, k)).tolist() == sorted(head)


def test_the_top_of_many_rows_equals_the_top_of_each() -> None:
    rng = np.random.default_rng(0)
    scores, counts = rng.integers(0, 4, (2, 6, 9)), rng.integers(0, 10, 6)
    mask = top_mask(scores, counts)
    for t, d in np.ndindex(2, 6):
        assert mask[t, d].tolist() == top_mask(scores[t, d], counts[d]).tolist()
    assert top_ranked(scores, 4)[1, 5].tolist() == top_ranked(scores[1, 5], 4).tolist()


@pytest.mark.parametrize("count", [-1, 3])
def test_the_top_refuses_wrong_counts_and_nan(count: int) -> None:
    with pytest.raises(ValueError, match="between 0 and the 2 candidates"):
        top_mask([1, 2], count)
    with pytest.raises(ValueError, match="NaN"):
        top_ranked([1, math.nan], 1)


# --- baselines

#            salt rice beef tofu
KITCHENS = [[1, 1, 0, 0], [1, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 0]]
ORIGINS = ["JP", "JP", "FR", "FR"]


def test_frequency_scores_count_other_dishes() -> None:
    # Salt is in three dishes, rice and beef in two, tofu in one; each dish takes itself away.
    expected = [[2, 1, 2, 1], [2, 1, 2, 0], [2, 2, 1, 1], [3, 2, 1, 1]]
    assert frequency_scores(KITCHENS).tolist() == expected
    assert frequency_scores(KITCHENS, leave_one_out=False).tolist() == [[3, 2, 2, 1]] * 4


def test_frequency_scores_within_groups_count_other_dishes_of_the_group() -> None:
    # Each group has two dishes, so the counts are the other dish's ingredients.
    assert frequency_scores(KITCHENS, ORIGINS).tolist() == [KITCHENS[i] for i in (1, 0, 3, 2)]
    alone = frequency_scores(KITCHENS[:1], ["JP"])
    assert alone.tolist() == [[0, 0, 0, 0]]
    # So a group's only dish scores like a random ranking; if it counted itself, it would score 1.
    assert average_precision(alone, KITCHENS[:1]) == pytest.approx(expected_average_precision([2], 4))
    assert average_precision(frequency_scores(KITCHENS[:1], leave_one_out=False), KITCHENS[:1]) == [1.0]


def test_frequency_scores_keep_the_top_counts_only() -> None:
    # The first two of salt 2, rice 1, beef 2, tofu 1; of three dishes' ties, those that come first.
    assert frequency_scores(KITCHENS, top=2)[0].tolist() == [2, 0, 2, 0]
    assert frequency_scores(KITCHENS, top=3)[0].tolist() == [2, 1, 2, 0]
    assert frequency_scores(KITCHENS, top=99).tolist() == frequency_scores(KITCHENS).tolist()


def test_frequency_scores_refuse_wrong_groups_and_shapes() -> None:
    with pytest.raises(ValueError, match="one label for each of 4 dishes"):
        frequency_scores(KITCHENS, ["JP", "FR"])
    with pytest.raises(ValueError, match="dishes x candidates"):
        frequency_scores([1, 0])


def test_the_dumb_baseline_of_the_paper_is_not_average_precision() -> None:
    # Top 2 of 4: a hit at rank 1, of two ingredients. The paper divides by the one found: 1. Equation 4: the
    # other is at rank 4: (1 + 2/4) / 2 = 0.75.
    scores, relevant = [4, 3, 2, 1], [1, 0, 0, 1]
    assert seed_dumb_average_precision(scores, relevant, 2) == 1.0
    assert average_precision(scores, relevant) == 0.75
    # A hit at rank 2 of 2 is 1/2; no hit among the first k is 1 / (4 + 1).
    table = seed_dumb_average_precision(scores, [[0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 0]], 2)
    assert table.tolist() == [0.5, 0.2, 1.0]
