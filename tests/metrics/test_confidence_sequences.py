"""Confidence sequences against closed forms, exact levels and their own definition."""

from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.confidence_sequences import SHARES, interval, is_above, log_capital, side_of

unit = st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 6))
values = st.lists(unit, min_size=1, max_size=12)


ORACLE = list(csv.DictReader((Path(__file__).parent / "confseq.csv").open()))
"""confseq 0.0.11 on the same values: the capital of the mean over these gamblers (`diversified_betting_mart`
with bets of fixed shares), the 95 % interval of their sequence on a grid of 0.001, and that of its own
gamblers (`hedged_cs`)."""


@pytest.mark.parametrize("row", ORACLE)
def test_capital_and_interval_are_those_of_confseq(row: dict[str, str]) -> None:
    n, population, generator = int(row["n"]), int(row["population"]), np.random.default_rng(int(row["seed"]))
    x = (generator.random(population or n) < float(row["share"])).astype(np.float64)
    if int(row["seed"]) % 2:
        x = np.clip(0.7 * x + 0.3 * generator.random(x.size), 0, 1)
    capital = log_capital(x[:n], float(row["mean"]), population=population or None)[-1]
    assert capital == pytest.approx(float(row["log_capital"]), abs=1e-9)
    found = interval(x[:n], 0.05, population=population or None)
    assert found is not None
    assert found == pytest.approx((float(row["low"]), float(row["high"])), abs=0.0011)
    hedged = float(row["hedged_high"]) - float(row["hedged_low"])
    assert 0.6 < (found[1] - found[0]) / hedged < 1.2, "as wide as those of gamblers who learn the variance"


def test_capital_of_yes_and_no_is_the_closed_form() -> None:
    """A gambler with share f has (1 - f)^no (1 + f (1 / m - 1))^yes."""
    x, m = np.array([1, 0, 1, 1, 0, 1.0]), 0.3
    yes, no = np.cumsum(x), np.cumsum(1 - x)
    of_each = (1 - SHARES[:, None]) ** no * (1 + SHARES[:, None] * (1 / m - 1)) ** yes
    np.testing.assert_allclose(log_capital(x, m), np.log(of_each.mean(axis=0)))


@pytest.mark.parametrize("m", [0.1, 0.3, 0.5, 0.9])
def test_expected_capital_is_one(m: float) -> None:
    """Exactly, over all sequences of eight yes and no: nobody gains against the true mean."""
    total = sum(
        math.prod(m if yes else 1 - m for yes in x) * math.exp(log_capital(np.array(x, float), m)[-1])
        for x in product((0, 1), repeat=8)
    )
    assert total == pytest.approx(1)


def test_expected_capital_is_one_without_replacement() -> None:
    """Exactly, over all orders of a population of eight."""
    population = np.array([0.0, 0.1, 0.2, 0.2, 0.5, 0.7, 1.0, 1.0])
    generator = np.random.default_rng(0)
    capitals = [
        np.exp(log_capital(generator.permutation(population)[:5], population.mean(), population=8)[-1])
        for _ in range(20_000)
    ]
    assert np.mean(capitals) == pytest.approx(1, abs=4 * np.std(capitals) / math.sqrt(20_000))


def test_expected_capital_is_one_with_weights() -> None:
    """Exactly, for clusters of two sizes whose means differ: the mean is over items, not over clusters."""
    kinds = [(0.5, 1.0, 0.2), (0.5, 0.5, 0.8)]  # probability, weight, and the chance of a yes
    mean = sum(p * w * q for p, w, q in kinds) / sum(p * w for p, w, _ in kinds)
    outcomes = [(p * (q if yes else 1 - q), w, yes) for p, w, q in kinds for yes in (0, 1)]
    total = 0.0
    for drawn in product(outcomes, repeat=5):
        chance, weights, x = (np.array(each, float) for each in zip(*drawn, strict=True))
        total += chance.prod() * math.exp(log_capital(x, mean, weights)[-1])
    assert total == pytest.approx(1)


@pytest.mark.parametrize("m", [0.05, 0.3, 0.5])
def test_level_is_exact_at_every_look_together(m: float) -> None:
    """The chance that 60 yes and no ever exclude the truth, by a walk over all counts."""
    alpha, n = 0.05, 60
    alive, lost = {0: 1.0}, 0.0
    for t in range(1, n + 1):
        after: dict[int, float] = {}
        for yes, chance in alive.items():
            for more, p in ((1, m), (0, 1 - m)):
                after[yes + more] = after.get(yes + more, 0.0) + chance * p
        for yes in list(after):  # the capital does not depend on the order
            x = np.repeat([1.0, 0.0], [yes, t - yes])
            ends = log_capital(x, m)[-1], log_capital(1 - x, 1 - m)[-1]
            if max(ends) >= -math.log(alpha / 2):
                lost += after.pop(yes)
        alive = after
    assert 0.002 < lost <= alpha


@given(values, st.floats(0.05, 0.95))
def test_mean_is_excluded_once_the_capital_reaches_one_over_alpha(x: list[float], mean: float) -> None:
    capital = float(np.exp(log_capital(x, mean).max()))
    assert is_above(x, mean, 1.001 / capital)
    assert not is_above(x, mean, 0.999 / capital)
    level = 0.999 / max(capital, float(np.exp(log_capital(1 - np.array(x), 1 - mean).max())))
    assert side_of(x, mean, 2 * level) == 0, "each side has half of the level"


@given(values, unit, unit)
def test_capital_falls_as_the_mean_rises(x: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert (log_capital(x, low) >= log_capital(x, high) - 1e-9).all()
    pair = (log_capital(x, mean, population=len(x) + 3) for mean in (low, high))
    above, below = pair
    assert (above >= below - 1e-9).all()


@given(values, unit)
def test_interval_is_what_no_look_excluded(x: list[float], mean: float) -> None:
    found = interval(x, 0.5)
    assert found is not None
    assert 0 <= found[0] <= found[1] <= 1
    if not found[0] - 1e-6 <= mean <= found[1] + 1e-6:
        assert side_of(x, mean, 0.5) != 0
    elif found[0] + 1e-6 < mean < found[1] - 1e-6:
        assert side_of(x, mean, 0.5) == 0


@given(values, st.integers(1, 11))
def test_intervals_are_nested(x: list[float], n: int) -> None:
    before, after = interval(x[:n], 0.3), interval(x, 0.3)
    assert before is not None
    assert after is not None
    assert before[0] - 1e-9 <= after[0]
    assert after[1] <= before[1] + 1e-9


@given(st.lists(unit, min_size=2, max_size=10))
def test_whole_population_leaves_next_to_nothing_open(x: list[float]) -> None:
    found = interval(x, 0.05, population=len(x))
    assert found is not None
    assert found[0] - 1e-6 <= np.mean(x) <= found[1] + 1e-6
    assert found[1] - found[0] <= 1 / len(x) + 1e-6, "the last value is open at most"


def test_impossible_means_are_excluded() -> None:
    assert is_above([1.0, 1.0, 1.0], 0.2, 0.05, population=10), "three of ten are 1: the mean is 0.3 or more"
    assert not is_above([1.0, 1.0, 1.0], 0.4, 0.05, population=10)
    assert interval([], 0.05) is None
    with pytest.raises(ValueError, match="they have no weights"):
        log_capital([1.0, 1.0], 0.5, population=1)
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        log_capital([2.0], 0.5)
