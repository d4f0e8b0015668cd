"""Pairs that people and a judge order differently, by hand."""

from __future__ import annotations

import pytest

from tasks.metrics.agreement import opposite_order


def test_by_hand() -> None:
    # Pairs: 1-2 both up, 1-3 tied by people, 2-3 people down and the judge up.
    order = opposite_order([1, 2, 1], [3, 4, 5])
    assert order is not None
    assert order.opposite == pytest.approx(1 / 2)
    assert order.tied == pytest.approx(1 / 3)
    assert order.n == 3
    # Agreement 1/3; by chance people -1, 0, 1 each 1/3 and the judge always -1: 1/3. So kappa is 0.
    assert order.kappa == pytest.approx(0.0)


def test_the_same_order_and_its_reverse() -> None:
    same, reverse = opposite_order([1, 2, 3], [2, 5, 9]), opposite_order([1, 2, 3], [3, 2, 1])
    assert same is not None
    assert reverse is not None
    assert (same.opposite, reverse.opposite) == (0.0, 1.0)


def test_nothing_to_compare() -> None:
    assert opposite_order([1], [2]) is None
    equal = opposite_order([1, 1], [2, 3])
    assert equal is not None
    assert (equal.opposite, equal.tied) == (None, 1.0)
    with pytest.raises(ValueError, match=r"."):
        opposite_order([1, 2], [1])


def test_pairs_are_within_groups() -> None:
    order = opposite_order([1, 2, 9, 8], [1, 2, 1, 2], ["a", "a", "b", "b"])
    assert order is not None
    assert (order.opposite, order.n) == (0.5, 2)
    assert opposite_order([1, 2], [1, 2], ["a", "b"]) is None
    with pytest.raises(ValueError, match="give one label for each"):
        opposite_order([1, 2], [1, 2], ["a"])
