from itertools import product

import numpy as np
import pytest

from tasks.metrics.classification import f1_per_class
from tasks.metrics.nulls import (
    list_frequency,
    reference_mass,
    reference_mass_null,
    shuffle_countries,
    uniform_category_f1,
)
from tasks.metrics.types import CATEGORIES, Category

PAPER: list[Category] = ["LH", "HH", "HH", "HH", "LL", "LL", "LL", "HL", "HL"]


def repeat(labels: tuple[Category, ...] | list[Category], times: list[int]) -> list[str]:
    return [str(label) for label in np.repeat(labels, times)]


# --- guessing categories


@pytest.mark.parametrize("times", [[3, 3, 3, 3], [3, 1, 2, 3]])
def test_uniform_category_f1_equals_the_mean_over_all_guesses(times: list[int]) -> None:
    truth: list[Category] = ["LH", "HH", "HH", "LL"]
    every = [
        f1_per_class(repeat(truth, times), repeat(guess, times), ["HH", "LH", "LL"])
        for guess in product(CATEGORIES, repeat=len(truth))
    ]
    drawn = uniform_category_f1(truth, times, draws=20_000, seed=0)
    assert list(drawn) == ["HH", "LH", "LL"]
    for label, f1 in drawn.items():
        exact = np.array([each[label] for each in every])
        assert f1.mean() == pytest.approx(exact.mean(), abs=0.005)
        # Few distinct scores are possible, so a quantile is right if the exact shares below and up to it
        # enclose its level.
        for level in (0.025, 0.975):
            quantile = np.quantile(f1, level)
            assert np.mean(exact < quantile - 1e-9) <= level + 0.005
            assert np.mean(exact <= quantile + 1e-9) >= level - 0.005


def test_a_domain_without_scored_questions_does_not_count() -> None:
    with_it = uniform_category_f1(["LH", "HH", "LL"], [3, 3, 0], draws=20_000, seed=0)
    without = uniform_category_f1(["LH", "HH"], [3, 3], draws=20_000, seed=0)
    assert with_it.keys() == without.keys()
    assert with_it["LH"].mean() == pytest.approx(without["LH"].mean(), abs=0.01)


def test_uniform_category_f1_refuses_no_questions() -> None:
    with pytest.raises(ValueError, match="at least one draw, one domain"):
        uniform_category_f1([], [], draws=10, seed=0)
    with pytest.raises(ValueError, match="at least one draw, one domain"):
        uniform_category_f1(PAPER, [0] * 9, draws=10, seed=0)


# --- shuffled countries


def test_shuffling_keeps_every_row_and_does_not_change_the_input() -> None:
    h = np.arange(27.0).reshape(9, 3)
    before = h.copy()
    shuffled = shuffle_countries(h, np.random.default_rng(3))
    assert sorted(shuffled.tolist()) == h.tolist() != shuffled.tolist()
    assert (h == before).all()


# --- the list itself


def test_hand_calculation_gives_list_frequency() -> None:
    membership = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)
    # frequency = 1/3, 2/3, 0. Country 0: 4/3, 5/3, 0 over 3. Country 1: 1/3, 5/3, 0 over 2. Country 2 has no
    # items of its own: 1/3, 2/3, 0 over 1.
    expected = np.array([[4 / 9, 5 / 9, 0], [1 / 6, 5 / 6, 0], [1 / 3, 2 / 3, 0]])
    assert list_frequency(3, membership) == pytest.approx(expected)


def test_a_list_that_names_no_country_is_uniform() -> None:
    assert (list_frequency(3, np.zeros((3, 4), dtype=bool)) == 0.25).all()


def test_list_frequency_refuses_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="3 rows for 4 countries"):
        list_frequency(4, np.ones((3, 2), dtype=bool))
    with pytest.raises(ValueError, match="n x t"):
        list_frequency(1, np.ones(3, dtype=bool))


# --- reference mass


def test_hand_calculation_gives_reference_mass() -> None:
    h = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]])
    membership = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)
    values, scored = reference_mass(h, membership)
    # 0.5 + 0.3; no items of its own; 0.6.
    assert scored.tolist() == [True, False, True]
    assert values == pytest.approx([0.8, 0.6])
    null, null_scored = reference_mass_null(h, membership)
    # Country 0 with the rows of 1 and 2: (0.2 + 0.8) / 2. Country 2 with the rows of 0 and 1: (0.3 + 0.1) /
    # 2.
    assert null_scored.tolist() == scored.tolist()
    assert null == pytest.approx([0.5, 0.2])


def test_the_null_of_reference_mass_is_the_mean_over_shuffles_that_move_the_country() -> None:
    rng = np.random.default_rng(0)
    h, membership = rng.dirichlet(np.full(9, 0.3), size=6), rng.random((6, 9)) < 0.4
    masses = np.array([np.roll(h, shift, axis=0) for shift in range(1, 6)])
    expected = np.where(membership, masses.mean(axis=0), 0).sum(axis=1)
    values, scored = reference_mass_null(h, membership)
    assert values == pytest.approx(expected[scored])


def test_a_list_without_countries_gives_no_reference_mass() -> None:
    values, scored = reference_mass(np.eye(3), np.zeros((3, 3), dtype=bool))
    assert values.size == 0
    assert not scored.any()


def test_reference_mass_refuses_other_than_distributions() -> None:
    with pytest.raises(ValueError, match="row 1 is not a distribution"):
        reference_mass([[1.0, 0.0], [0.5, 0.2]], np.ones((2, 2), dtype=bool))
    with pytest.raises(ValueError, match="row 0 is not a distribution"):
        reference_mass([[1.5, -0.5]], np.ones((1, 2), dtype=bool))
    with pytest.raises(ValueError, match="must be the same"):
        reference_mass(np.eye(2), np.ones((2, 3), dtype=bool))
    with pytest.raises(ValueError, match="two countries"):
        reference_mass_null([[1.0, 0.0]], np.ones((1, 2), dtype=bool))
