"""Alpha by hand, by its definition over pairs, and against the krippendorff package."""

from __future__ import annotations

import math
from itertools import permutations
from typing import get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.agreement import Level, krippendorff_alpha, krippendorff_alpha_interval
from tasks.metrics.types import FloatArray

LEVELS: tuple[Level, ...] = get_args(Level)
nan = math.nan

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: 4 observers, 12 units.
ratings = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, nan]), min_size=3, max_size=3), min_size=1, max_size=12
)


def by_definition(table: list[list[float]], level: Level) -> float | None:
    """Return 1 - D_o / D_e over ordered pairs, as the paper writes it."""
    units = [[x for x in unit if not math.isnan(x)] for unit in table]
    units = [unit for unit in units if len(unit) > 1]
    everything = [x for unit in units for x in unit]
    n = len(everything)

    def cost(a: float, b: float) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        between = sum(min(a, b) <= x <= max(a, b) for x in everything)
        return (between - (everything.count(a) + everything.count(b)) / 2) ** 2

    observed = sum(cost(a, b) / (len(u) - 1) for u in units for a, b in permutations(u, 2))
    expected = sum(cost(a, b) for a, b in permutations(everything, 2))
    return 1 - (n - 1) * observed / expected if expected else None


def test_hand_calculation_gives_alpha() -> None:
    # Three units, two raters: 0 0, 1 1, 0 1. Of n = 6 ratings three are 0 and three are 1. Unequal ordered
    # pairs: 2 within units, 2 * 3 * 3 = 18 overall. Alpha = 1 - 5 * 2 / 18 = 4/9, at every level: there is
    # only one kind of disagreement.
    for level in LEVELS:
        assert krippendorff_alpha([[0, 0], [1, 1], [0, 1]], level) == pytest.approx(4 / 9, abs=1e-12)
    # 0 0, 1 1, 0 2: 0 three times, 1 twice, 2 once.
    table = [[0, 0], [1, 1], [0, 2]]
    # Nominal: 2 within; overall 36 - (9 + 4 + 1) = 22. 1 - 5 * 2 / 22.
    assert krippendorff_alpha(table, "nominal") == pytest.approx(12 / 22, abs=1e-12)
    # Interval: 2 * 2^2 = 8 within; overall 2 * (0-1: 6 * 1 + 0-2: 3 * 4 + 1-2: 2 * 1) = 40. 1 - 5 * 8 / 40.
    assert krippendorff_alpha(table, "interval") == pytest.approx(0, abs=1e-12)
    # Ordinal: mid-ranks 1.5, 4 and 5.5. Within 2 * 4^2 = 32; overall 2 * (6 * 2.5^2 + 3 * 4^2 + 2 * 1.5^2)
    # = 2 * (37.5 + 48 + 4.5) = 180. 1 - 5 * 32 / 180.
    assert krippendorff_alpha(table, "ordinal") == pytest.approx(1 / 9, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@given(table=ratings)
@settings(deadline=None)
def test_alpha_equals_its_definition_and_the_krippendorff_package(
    level: Level, table: list[list[float]]
) -> None:
    expected = by_definition(table, level)
    ours = krippendorff_alpha(table, level)
    assert ours == (None if expected is None else pytest.approx(expected, abs=1e-9))
    if ours is not None:
        package = krippendorff.alpha(reliability_data=np.array(table).T, level_of_measurement=level)
        assert ours == pytest.approx(package, abs=1e-9)


def test_alpha_of_values_far_from_zero_keeps_its_digits() -> None:
    table = np.random.default_rng(0).random((200, 3))
    near, far = (krippendorff_alpha(table + shift, "interval") for shift in (0, 1e6))
    assert far == pytest.approx(near, abs=1e-9)


@pytest.mark.parametrize(
    "table", [[[1, 1], [1, nan]], [[1, nan], [nan, 2]], [[1], [2]], np.empty((0, 3)), np.empty((3, 0))]
)
def test_no_alpha_without_pairs_or_variety(table: list[list[float]]) -> None:
    for level in LEVELS:
        assert krippendorff_alpha(table, level) is None
        assert krippendorff_alpha_interval(table, level) is None


def test_alpha_refuses_wrong_shapes_and_infinity() -> None:
    for broken in ([1, 2, 3], [[1, math.inf]]):
        with pytest.raises(ValueError, match="units x raters"):
            krippendorff_alpha(broken, "nominal")


# --- interval


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_has_its_coverage(level: Level) -> None:
    rng = np.random.default_rng(1)

    def rated(n: int) -> FloatArray:
        truth = rng.integers(0, 4, (n, 1))
        table = np.where(rng.random((n, 3)) < 0.3, rng.integers(0, 4, (n, 3)), truth).astype(float)
        table[rng.random(table.shape) < 0.1] = nan
        return table

    alpha = krippendorff_alpha(rated(20_000), level)
    assert alpha is not None
    intervals = [krippendorff_alpha_interval(rated(12), level) for _ in range(200)]
    covered = [low <= alpha <= high for low, high in filter(None, intervals)]
    assert len(covered) > 190
    assert 0.9 < np.mean(covered) < 0.995


def test_the_interval_does_not_depend_on_order() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (40, 4)).astype(float)
    table[rng.random(table.shape) < 0.2] = nan
    expected = krippendorff_alpha_interval(table, "ordinal")
    assert expected is not None
    shuffled = table[rng.permutation(40)][:, rng.permutation(4)]
    assert krippendorff_alpha_interval(shuffled, "ordinal") == expected


def test_no_interval_where_alpha_depends_on_one_unit() -> None:
    # Without the odd unit all ratings are equal, and there is no alpha.
    assert krippendorff_alpha_interval([[1, 1]] * 6 + [[1, 2]], "nominal") is None
