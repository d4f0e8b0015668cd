import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score  # type: ignore[import-untyped]

from tasks.metrics.classification import (
    LOST,
    commonest,
    f1_left_out,
    f1_per_class,
    jump_error,
    label_scores,
    lower_median,
    macro_f1,
    random_baseline,
)
from tasks.metrics.types import CATEGORIES

categories = st.sampled_from(CATEGORIES)
labels = st.lists(st.tuples(categories, categories), min_size=1, max_size=30)

# --- median split


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
def test_median_split_marks_values_above_the_median(values: list[float], high: list[bool]) -> None:
    assert (values > lower_median(values)).tolist() == high


@given(st.lists(st.integers(-50, 50), min_size=1), st.randoms(use_true_random=False))
def test_median_split_is_strictly_above_numpy_median_in_any_order(
    values: list[int], shuffler: random.Random
) -> None:
    high = values > lower_median(values)
    assert (high == (np.array(values) > np.median(values))).all()
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert lower_median(shuffled) == lower_median(values)


@pytest.mark.parametrize("values", [[], [1.0, math.nan]])
def test_median_split_refuses_empty_and_nan(values: list[float]) -> None:
    with pytest.raises(ValueError, match="none of them NaN"):
        lower_median(values)


# --- F1


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


@pytest.mark.parametrize(("true", "predicted"), [([], []), (["HH"], ["HH", "LL"])])
def test_macro_f1_refuses_empty_and_unequal_lengths(true: list[str], predicted: list[str]) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        macro_f1(true, predicted)


# --- labels

GOLD = ["yes", "yes", "yes", "no", "neutral"]
PREDICTED = ["yes", "yes", "no", "no", "yes"]


def test_a_lost_label_is_a_miss_and_no_prediction() -> None:
    # One yes is lost: 2 of 5 right. yes: 1 hit, true 3, predicted 2: 2/5. no: 2/3. neutral: 0. Labels: 4.
    scores = label_scores(GOLD, [LOST, *PREDICTED[1:]])
    assert scores == pytest.approx((2 / 5, 2 * 2 / (5 + 4), (2 / 5 + 2 / 3) / 3))


@given(labels)
@settings(deadline=None)
def test_f1_left_out_is_the_f1_of_the_other_clusters(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    clusters = [f"c{i % 4}" for i in range(len(pairs))]
    predicted = [LOST if i % 3 == 2 else label for i, label in enumerate(predicted)]
    for name, micro, macro in zip(
        sorted(set(clusters)), *f1_left_out(gold, predicted, clusters), strict=True
    ):
        rest = [i for i, cluster in enumerate(clusters) if cluster != name]
        if rest:
            expected = label_scores([gold[i] for i in rest], [predicted[i] for i in rest])
            assert (micro, macro) == pytest.approx(expected[1:])
        else:
            assert math.isnan(micro)
            assert math.isnan(macro)


def test_hand_calculation_gives_commonest_label_and_its_f1() -> None:
    assert commonest(["no", "yes", "yes"]) == "yes"
    assert commonest(["b", "a"]) == "a"
    # Three of five are yes: F1 = 2 * 3 / (3 + 5), the others 0.
    assert label_scores(GOLD, ["yes"] * 5).f1_macro == pytest.approx(1 / 4)
    for baseline in (commonest, random_baseline):
        with pytest.raises(ValueError, match="needs labels"):
            baseline([])


def test_random_baseline_is_the_mean_over_shuffled_labels() -> None:
    # (3^2 + 1^2 + 1^2) / 5^2.
    assert random_baseline(GOLD) == pytest.approx((11 / 25, 11 / 25, 1 / 3))
    rng = np.random.default_rng(0)
    dealt = [label_scores(GOLD, rng.permutation(GOLD).tolist()) for _ in range(4000)]
    assert np.mean(dealt, axis=0) == pytest.approx((11 / 25, 11 / 25, 1 / 3), abs=0.015)


def test_the_error_of_a_jump_is_half_its_mean_over_all_letters() -> None:
    """Two right categories: each change of a letter leaves one class right and loses the other."""
    errors = jump_error(["LH", "HL"], ["LH", "HL"])
    # LH of place 1 as HH or LL: F1 0 of LH and 1 of HL; the same for place 2. Macro F1 falls by 0.5.
    assert errors == {"LH": pytest.approx(0.25), "HL": pytest.approx(0.25), "macro_f1": pytest.approx(0.25)}
    # LL as HL gains a class, and as LH brings a false one; HH of two that are wrong stays wrong.
    assert jump_error(["HL"], ["LL"]) == {"HL": 0.25, "macro_f1": 0.25}
