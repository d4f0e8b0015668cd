"""Intervals of any statistic of items."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.bootstrap import bootstrap_indices
from tasks.metrics.comparison import mean_interval
from tasks.metrics.item_bootstrap import item_interval, known_interval
from tasks.metrics.types import IntArray


def test_of_a_mean_it_is_the_interval_of_means() -> None:
    values = np.random.default_rng(0).random(50)
    expected = mean_interval(values, bootstrap_indices(50, 200, seed=4))
    assert item_interval(lambda drawn: float(values[drawn].mean()), 50, 200, seed=4) == expected


def test_no_items_to_draw() -> None:
    assert item_interval(lambda drawn: 1.0, 1, 200, seed=0) is None
    assert item_interval(lambda drawn: 1.0, 0, 200, seed=0) is None
    assert item_interval(lambda drawn: 1.0, 2, 200, seed=0) == (1.0, 1.0)


def test_resamples_without_a_value_are_left_out_until_they_are_most() -> None:
    assert known_interval([None, 1.0, 3.0, None], level=0.5) == pytest.approx((1.5, 2.5))
    assert known_interval([None, 1.0, 3.0, None, None]) is None
    assert known_interval([1.0, None]) is None

    def undefined(drawn: IntArray) -> float | None:
        return None

    assert item_interval(undefined, 9, 20, seed=0) is None
