from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from benchmarks.gates import decided, sequences, single_looks, widths
from tasks.metrics.gates import (
    Tails,
    Verdict,
    difference_of_intervals,
    judged,
    more_items,
    of_all,
    stretched,
    tails,
)
from tasks.metrics.intervals import CORRELATION, SHARE, mean_interval, proportion_interval

ONE = tails(0.05, 1, 1)


# --- tails and verdicts


def test_each_direction_has_half_of_the_level_over_all_looks() -> None:
    assert tails(0.05, 1, 1) == Tails(0.025, 0.025)
    # A wrong GO needs one wrong requirement; a wrong NO-GO may come from any of four.
    assert tails(0.1, 52, 4) == pytest.approx((0.05 / 52, 0.05 / 52 / 4))
    for level, looks, n in ((0.0, 1, 1), (1.0, 1, 1), (0.05, 0, 1), (0.05, 1, 0)):
        with pytest.raises(ValueError, match="0 < level < 1"):
            tails(level, looks, n)


def test_a_policy_is_go_only_if_every_requirement_is() -> None:
    cases: dict[tuple[Verdict, ...], Verdict] = {
        ("GO", "GO"): "GO",
        ("GO", "INCONCLUSIVE"): "INCONCLUSIVE",
        ("INCONCLUSIVE", "NO-GO"): "NO-GO",
    }
    for verdicts, expected in cases.items():
        assert of_all(verdicts) == expected
    with pytest.raises(ValueError, match="at least one"):
        of_all([])


@pytest.mark.parametrize(
    ("limit", "is_least", "verdict"),
    [
        (0.6, True, "GO"), (0.6001, True, "INCONCLUSIVE"), (0.8, True, "INCONCLUSIVE"),
        (0.8001, True, "NO-GO"), (0.8, False, "GO"), (0.7999, False, "INCONCLUSIVE"),
        (0.6, False, "INCONCLUSIVE"), (0.5999, False, "NO-GO"),
    ],
)  # fmt: skip
def test_the_whole_interval_decides(limit: float, is_least: bool, verdict: Verdict) -> None:
    found = judged(0.7, (0.6, 0.8), limit, is_least, ONE, 100)
    assert found.verdict == verdict
    assert (found.more == 0) == (verdict != "INCONCLUSIVE")


def test_without_an_interval_nothing_is_shown() -> None:
    assert judged(0.7, None, 0.1, True, ONE, 3) == ("INCONCLUSIVE", None, None)


# --- stretched intervals


def test_the_stored_tail_keeps_the_interval() -> None:
    for bounds in (SHARE, CORRELATION, (0.0, math.inf), (-math.inf, math.inf)):
        assert stretched(0.7, (0.6, 0.75), 0.025, 11, bounds) == pytest.approx((0.6, 0.75))
    assert stretched(0.7, None, 0.001, 11) is None


def test_unbounded_intervals_are_stretched_by_the_quantiles_of_t() -> None:
    values = np.random.default_rng(0).normal(0, 1, 20)
    half = t.ppf(0.999, 19) * values.std(ddof=1) / math.sqrt(20)
    error = t.ppf(0.975, 19) * values.std(ddof=1) / math.sqrt(20)
    mean = values.mean()
    found = stretched(mean, (mean - error, mean + error), 0.001, 19)
    assert found == pytest.approx((mean - half, mean + half))


@pytest.mark.parametrize("n", [5, 20, 200])
def test_all_right_and_all_wrong_keep_their_exact_interval(n: int) -> None:
    """Clopper and Pearson: the share with which such a sample still has that chance."""
    low, high = stretched(1.0, proportion_interval(n, n), 0.001, n - 1, SHARE) or (0, 0)
    assert (low, high) == pytest.approx((0.001 ** (1 / n), 1.0))
    low, high = stretched(0.0, proportion_interval(0, n), 0.001, n - 1, SHARE) or (0, 0)
    assert (low, high) == pytest.approx((0.0, 1 - 0.001 ** (1 / n)))


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.001, 0.0001]))
def test_a_smaller_tail_never_narrows_and_stays_within_bounds(seed: int, tail: float) -> None:
    values = np.random.default_rng(seed).beta(0.4, 0.1, 12)
    ends = mean_interval(values, bounds=SHARE)
    wide = stretched(float(values.mean()), ends, tail, 11, SHARE)
    assert ends is not None
    assert wide is not None
    assert 0 <= wide[0] <= ends[0] + 1e-12
    assert ends[1] - 1e-12 <= wide[1] <= 1


# --- further items


def test_hand_calculation_of_further_items() -> None:
    # Half of the interval is 0.1 over 100 items; the limit is 0.05 away. The error has to fall from
    # 0.1 / 1.96 to 0.05 / (1.96 + 0.84), and with it the root of the number of items.
    share = ((0.1 / norm.ppf(0.975)) * (norm.ppf(0.975) + norm.ppf(0.8)) / 0.05) ** 2
    assert more_items(0.7, (0.6, 0.8), 0.65, 0.025, 100, 1e9) == math.ceil(100 * (share - 1))
    assert more_items(0.7, (0.6, 0.8), 0.75, 0.025, 100, 1e9) == math.ceil(100 * (share - 1))
    assert more_items(0.7, (0.6, 0.8), 0.7, 0.025, 100, 10) is None


def test_a_difference_of_intervals_adds_their_sides() -> None:
    value, (low, high) = difference_of_intervals((0.8, (0.77, 0.84)), (0.7, (0.66, 0.75)))
    assert value == pytest.approx(0.1)
    assert low == pytest.approx(0.1 - math.hypot(0.03, 0.05))
    assert high == pytest.approx(0.1 + math.hypot(0.04, 0.04))


# --- simulation


@pytest.mark.heavy
def test_52_looks_keep_the_level_and_one_look_a_week_does_not() -> None:
    for name, looks, wrong, draws in sequences(150, 40)["lines"]:
        bar = 0.025 + 3 * math.sqrt(0.025 * 0.975 / draws)
        assert (max(wrong) <= bar) == (looks == 52), name


@pytest.mark.heavy
def test_one_look_keeps_its_level() -> None:
    for name, n, looks, wrong, draws in single_looks(600)["lines"]:
        assert max(wrong) <= 0.05 / looks + 3 * math.sqrt(0.05 / looks / draws), (name, n)


@pytest.mark.heavy
def test_the_items_that_are_asked_for_decide_in_about_four_of_five() -> None:
    share, n = decided(300)["result"]
    assert n > 250
    assert 0.75 < share < 0.95


def test_equal_shares_cost_little_more_than_a_confidence_sequence() -> None:
    ours, theirs = widths()["result"]
    assert ours == pytest.approx(-norm.ppf(0.025 / 52))
    assert theirs < ours < 1.1 * theirs
