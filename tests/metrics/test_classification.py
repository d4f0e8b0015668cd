import math
import random
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score  # type: ignore[import-untyped]

from tasks.metrics.classification import f1_per_class, macro_f1, median_split, median_split_ceiling
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import CATEGORIES, Category

categories = st.sampled_from(CATEGORIES)
labels = st.lists(st.tuples(categories, categories), min_size=1, max_size=30)

# Nine domains of three questions each, table 1.
PAPER_COUNTS: dict[Category, int] = {"LH": 3, "HH": 9, "LL": 9, "HL": 6}
PAPER = [category for category, points in PAPER_COUNTS.items() for _ in range(points)]


# --- median split
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "high"),
    [
        ([3, 1, 2], [True, False, False]),  # the median itself is low
        ([1, 2, 3, 4], [False, False, True, True]),
        ([1, 2, 2, 3], [False, False, False, True]),  # median 2: both ties are low
        ([2, 2, 2, 3], [False, False, False, True]),
        ([1, 2, 2, 2], [False, False, False, False]),
        ([5, 5, 5], [False, False, False]),
        ([1, math.inf], [False, True]),  # the middle values average to inf, and still split
        ([1, 2, math.inf, math.inf], [False, False, True, True]),
        ([1, math.inf, math.inf], [False, False, False]),
        ([-math.inf, math.inf], [False, True]),
    ],
)
def test_median_split(values: list[float], high: list[bool]) -> None:
    assert median_split(values).tolist() == high


@given(st.lists(st.integers(-50, 50), min_size=1), st.randoms(use_true_random=False))
def test_median_split_is_strictly_above_numpy_median_in_any_order(
    values: list[int], shuffler: random.Random
) -> None:
    high = median_split(values)
    assert (high == (np.array(values) > np.median(values))).all()
    order = list(range(len(values)))
    shuffler.shuffle(order)
    assert (median_split([values[i] for i in order]) == high[order]).all()


@given(st.sets(st.floats(allow_nan=False), min_size=1))
def test_without_ties_exactly_half_are_high(values: set[float]) -> None:
    assert median_split(list(values)).sum() == len(values) // 2


@pytest.mark.parametrize("values", [[], [1.0, math.nan]])
def test_median_split_refuses(values: list[float]) -> None:
    with pytest.raises(ValueError, match="without NaN"):
        median_split(values)


# --- F1
# -------------------------------------------------------------------------------------------------------


def test_f1_by_hand() -> None:
    true, predicted = ["HH", "HH", "LL", "LL"], ["HH", "HL", "HL", "LL"]
    # HH: TP 1, FP 0, FN 1 -> 2/3. LL the same. HL: TP 0, FP 2 -> 0. LH: never seen -> 0.
    assert f1_per_class(true, predicted) == pytest.approx({"LH": 0, "HL": 0, "HH": 2 / 3, "LL": 2 / 3})
    # HL is only predicted, so the mean is over HH and LL.
    assert macro_f1(true, predicted) == pytest.approx(2 / 3)


@given(labels)
@settings(deadline=None)
def test_f1_agrees_with_sklearn(pairs: list[tuple[str, str]]) -> None:
    true, predicted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = f1_score(true, predicted, labels=CATEGORIES, average=None, zero_division=0)
    assert list(f1_per_class(true, predicted).values()) == pytest.approx(expected)
    present = sorted(set(true))
    assert macro_f1(true, predicted) == pytest.approx(
        f1_score(true, predicted, labels=present, average="macro", zero_division=0)
    )


@given(labels, st.randoms(use_true_random=False))
def test_macro_f1_does_not_depend_on_order(pairs: list[tuple[str, str]], shuffler: random.Random) -> None:
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)
    assert macro_f1(*zip(*shuffled, strict=True)) == macro_f1(*zip(*pairs, strict=True))


@pytest.mark.parametrize(("true", "predicted"), [([], []), (["HH"], ["HH", "LL"])])
def test_f1_refuses(true: list[str], predicted: list[str]) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        macro_f1(true, predicted)


# --- ceiling
# --------------------------------------------------------------------------------------------------


def best_by_trying_every_split(true: Sequence[Category]) -> float:
    m = len(true)
    halves = [set(half) for half in combinations(range(m), m // 2)]
    return max(
        macro_f1(true, [er_sr_category(i in er_high, i in sr_high) for i in range(m)])
        for er_high in halves
        for sr_high in halves
    )


@given(st.lists(categories, min_size=2, max_size=7))
@settings(max_examples=40, deadline=None)
def test_ceiling_is_the_best_of_all_splits(true: list[Category]) -> None:
    assert median_split_ceiling(true) == pytest.approx(best_by_trying_every_split(true))


def test_ceiling_of_the_papers_design() -> None:
    # 27 points, 13 high on ER and 13 on SR. The best split puts all 9 HH right, so 4 are HL, 4 LH and 10 LL,
    # where truth has 6, 3 and 9. F1 = 2 min / (true + predicted): HH 18/18, HL 8/10, LH 6/7, LL 18/19.
    assert median_split_ceiling(PAPER) == pytest.approx((1 + 8 / 10 + 6 / 7 + 18 / 19) / 4)
    assert median_split_ceiling(PAPER) == pytest.approx(0.901127819548872, rel=1e-12)


def test_a_balanced_design_can_be_matched() -> None:
    assert median_split_ceiling(["LH", "HL", "HH", "LL"] * 5) == 1.0


def test_ceiling_refuses() -> None:
    with pytest.raises(ValueError, match="two points"):
        median_split_ceiling(["HH"])
    with pytest.raises(ValueError, match="unknown categories"):
        median_split_ceiling(["HH", "XX"])  # type: ignore[list-item]
