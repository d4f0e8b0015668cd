"""Means over people and items, with an interval over both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from benchmarks.ceiling import DESIGNS, SHAPES, SPREADS, Design, share_held
from tasks.metrics.intervals import SHARE
from tasks.metrics.two_way import NO_SPREAD, TOO_FEW_CLUSTERS, TOO_FEW_PEOPLE, two_way_mean


def crossed(
    seed: int, people: int = 8, clusters: int = 12, per: int = 2, asked: int = 4
) -> tuple[np.ndarray, ...]:
    """Return scores, people, items and clusters; each item goes to ``asked`` people in turn."""
    rng = np.random.default_rng(seed)
    able, hard = rng.normal(1, 0.8, people), rng.normal(0, 0.8, clusters)
    items = np.repeat(np.arange(clusters * per), asked)
    of = (np.arange(items.size)) % people
    right = rng.random(items.size) < 1 / (1 + np.exp(-able[of] - hard[items // per]))
    return right.astype(float), of, items, items // per


def test_hand_calculation_gives_the_mean_over_items_of_the_means_over_people() -> None:
    # Item a: 1 and 0; item b: 1 alone. (0.5 + 1) / 2.
    mean = two_way_mean([1, 0, 1], ["p", "q", "p"], ["a", "a", "b"], ["a", "a", "b"], SHARE)
    assert mean.value == 0.75
    assert (mean.interval, mean.reason) == (None, TOO_FEW_PEOPLE)
    assert (mean.n_people, mean.n_items, mean.n_clusters) == (2, 2, 2)


def test_hand_calculation_gives_the_variance_of_a_full_crossing() -> None:
    # With unbounded scores: half = t * sqrt(V_people + V_items - V_cells), each with its n / (n - 1). What
    # people and items add to single answers has 4 degrees of freedom each, and half of the rest; 3/4 count.
    scores = np.add.outer(np.arange(5.0), [0.0, 4, 0, 4, 0])
    people, items = (each.ravel() for each in np.meshgrid(np.arange(5), np.arange(5), indexing="ij"))
    mean = two_way_mean(scores.ravel(), people, items, items, (-np.inf, np.inf))
    assert mean.interval is not None
    d = (scores - scores.mean()) / 25
    squares = (d.sum(1) ** 2).sum(), (d.sum(0) ** 2).sum(), (d**2).sum()
    of_people, of_items, of_cells = np.array(squares) * (5 / 4, 5 / 4, 25 / 24)
    variance = of_people + of_items - of_cells
    parts = of_people - of_cells / 2, of_items - of_cells / 2
    half = stdtrit(0.75 * variance**2 / sum(part**2 / 4 for part in parts), 0.975) * np.sqrt(variance)
    assert mean.interval == pytest.approx((scores.mean() - half, scores.mean() + half))


@pytest.mark.parametrize(
    ("people", "clusters", "reason"), [(4, 12, TOO_FEW_PEOPLE), (8, 4, TOO_FEW_CLUSTERS), (5, 5, "")]
)
def test_below_five_people_or_clusters_there_is_no_interval(people: int, clusters: int, reason: str) -> None:
    mean = two_way_mean(*crossed(1, people, clusters), SHARE)
    assert mean.reason == reason
    assert (mean.interval is None) == bool(reason)


def test_equal_scores_have_no_interval() -> None:
    _, *labels = crossed(1)
    mean = two_way_mean(np.ones(labels[0].size), *labels, SHARE)
    assert (mean.value, mean.interval, mean.reason) == (1.0, None, NO_SPREAD)


@given(st.integers(0, 200), st.randoms(use_true_random=False))
def test_the_interval_holds_the_mean_within_the_bounds_in_any_order(seed: int, order: object) -> None:
    arrays = crossed(seed)
    mean = two_way_mean(*arrays, SHARE)
    if mean.interval:
        assert 0 <= mean.interval[0] <= mean.value <= mean.interval[1] <= 1
    mixed = list(range(arrays[0].size))
    order.shuffle(mixed)  # type: ignore[attr-defined]
    assert two_way_mean(*(each[mixed] for each in arrays), SHARE) == mean


def test_more_people_and_more_items_narrow_it() -> None:
    few, many = (two_way_mean(*crossed(3, people=n, clusters=n), SHARE).interval for n in (6, 40))
    assert few is not None
    assert many is not None
    assert many[1] - many[0] < (few[1] - few[0]) / 2


@pytest.mark.parametrize("scores", [[], [1.0, np.nan], [[1.0]]])
def test_invalid_scores_are_refused(scores: list[float]) -> None:
    labels = ["a"] * len(scores)
    with pytest.raises(ValueError, match="score"):
        two_way_mean(scores, labels, labels, labels, SHARE)


def test_few_wrong_answers_have_no_interval() -> None:
    scores, *labels = crossed(1, people=8, clusters=12)
    scores = (np.arange(scores.size) % 10 > 0).astype(float)
    mean = two_way_mean(scores, *labels, SHARE)
    assert (mean.interval, mean.reason) == (
        None,
        "10 of 96 answers differ from the others, an interval needs a fifth, or 10 of 240",
    )
    assert two_way_mean(0.5 + scores / 4, *labels, (0, 0.8)).reason == mean.reason
    grades = np.where(scores == 0, np.linspace(0, 0.9, scores.size), 1)
    assert two_way_mean(grades, *labels, SHARE).interval


@pytest.mark.heavy
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("design", DESIGNS[:3])
def test_intervals_of_few_people_hold_the_truth_and_not_more(design: Design, shape: str) -> None:
    """With the smaller number less one degrees of freedom they hold 0.98 to 1.00 of it."""
    held = [share_held(design, shape, 0.5, spread, 300) or 0.95 for spread in SPREADS]
    assert 0.92 <= np.mean(held) <= 0.98
