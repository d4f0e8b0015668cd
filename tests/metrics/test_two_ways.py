"""McNemar's test and spread, by hand and against statsmodels and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # type: ignore[import-untyped]

from tasks.metrics.two_ways import mcnemar, spread


def test_mcnemar_by_hand() -> None:
    # First alone right on five, second on one: of 2^6 outcomes 1 + 6 are as lopsided to each side: 14/64.
    first = np.array([True] * 5 + [False] + [True, False])
    second = np.array([False] * 5 + [True] + [True, False])
    assert mcnemar(first, second) == pytest.approx((5, 1, 14 / 64, 8))
    assert mcnemar(first, first) == (0, 0, 1.0, 8)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
@settings(deadline=None, max_examples=40)
def test_mcnemar_is_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs).T
    table = [[int((first & second).sum()), int((first & ~second).sum())],
             [int((~first & second).sum()), int((~first & ~second).sum())]]  # fmt: skip
    result = mcnemar(first, second)
    assert result.p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)
    assert mcnemar(second, first)[:3] == (result.only_second, result.only_first, result.p_value)


def test_mcnemar_refuses() -> None:
    for broken in ([1, 0], [True], [[True, False]], [0.5, 1.0], ["yes", "no"]):
        with pytest.raises(ValueError, match="vectors of booleans of one length"):
            mcnemar(broken, [True, False])


def test_spread_by_hand() -> None:
    # 1, 2, 3, 6: quartiles at 1.75 and 3.75; squared distances from 3: 4, 1, 0, 9.
    assert spread([3, 1, 6, 2]) == pytest.approx((2.5, 2.0, 14 / 3, 4))
    values = np.random.default_rng(0).random(25)
    result = spread(values)
    assert result is not None
    assert result.iqr == pytest.approx(scipy.stats.iqr(values))
    assert spread([1, 3]) == (2.0, 1.0, 2.0, 2)
    assert spread([0.4]) is None
    with pytest.raises(ValueError, match="finite"):
        spread([1, math.nan])
