"""Distributions H, ER, SR and reference mass from log-probabilities, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import (
    MIN_COUNTRIES,
    QuestionAnswers,
    country_subsets,
    distribution,
    domain_similarity,
    from_list,
    membership,
    score_model,
)
from tasks.evaluations.spectral.study import ItemList, SpectralQuestion, SpectralStudy
from tasks.metrics.types import FloatArray

MakeStudy = Callable[..., SpectralStudy]

QUESTION = SpectralQuestion("q-1", "q", 1, "{country}", "", "l", 1.0, "LH")
TWO = ItemList("l", ("ab", "né"), (frozenset({"AA", "BB"}), frozenset({"BB"})))


def study_of(items: ItemList, codes: str = "AA BB") -> SpectralStudy:
    params = SpectralParams(models=["m"], half_samples=20)
    return SpectralStudy(params, {c: c.title() for c in codes.split()}, (QUESTION,), {"l": items}, "ref")


def answers(logprobs: object) -> QuestionAnswers:
    table = np.array(logprobs, dtype=np.float64)
    return QuestionAnswers(table, np.ones(table.shape[1], dtype=np.int64))


# --- H


def test_distribution_is_the_softmax_over_the_list() -> None:
    # e^log 3 : e^log 1 = 3 : 1, and a constant (what the prompt leaves to other texts) cancels.
    h = distribution(answers([[math.log(3), 0.0], [-100.0, -100.0]]), TWO, "sum")
    np.testing.assert_allclose(h, [[0.75, 0.25], [0.5, 0.5]], rtol=1e-12)


def test_distribution_normalised_per_token_and_per_byte() -> None:
    one_country = QuestionAnswers(np.array([[-2.0, -3.0]]), np.array([1, 3]))
    # Per token: -2/1 and -3/3 = -1, so 1 : e.
    per_token = distribution(one_country, TWO, "per_token")
    np.testing.assert_allclose(per_token, [[1 / (1 + math.e), math.e / (1 + math.e)]], rtol=1e-12)
    # Per byte: "ab" has 2, "né" has 3 in UTF-8: -1 and -1.
    np.testing.assert_allclose(distribution(one_country, TWO, "per_byte"), [[0.5, 0.5]], rtol=1e-12)


# --- ER and SR


def test_hand_calculation_gives_er_and_sr() -> None:
    # H = [[3/7, 4/7], [4/7, 3/7]]: the cosine is (3*4 + 4*3) / (5*5) = 0.96, the eigenvalues 1.96 and 0.04,
    # their shares 0.98 and 0.02.
    score = score_model(study_of(TWO), lambda q: answers(np.log([[3, 4], [4, 3]])))
    q = score.questions["q-1"]
    assert q.sr == pytest.approx(1.96 / 0.04)
    assert q.er == pytest.approx(math.exp(-(0.98 * math.log(0.98) + 0.02 * math.log(0.02))))
    np.testing.assert_allclose(q.similarity, [[1, 0.96], [0.96, 1]])
    # With two countries none can be left out.
    assert len(q.er_halves) == len(q.sr_left_out) == 0


@pytest.mark.parametrize(("n", "is_resampled"), [(2, False), (11, False), (12, True), (13, True)])
def test_spectra_are_resampled_from_twelve_countries_on(n: int, is_resampled: bool) -> None:
    """Below twelve, simulated intervals are too narrow."""
    assert (n >= MIN_COUNTRIES) == is_resampled
    halves, left_out = country_subsets(study_of(TWO, " ".join(f"C{k}" for k in range(n))))
    assert halves.shape == (20 * is_resampled, n // 2)
    assert bool(left_out) == is_resampled


def test_countries_without_a_common_item_each_are_one_pattern() -> None:
    inf = -math.inf
    three = ItemList("l", ("a", "b", "c"), (frozenset(),) * 3)
    study = study_of(three, "AA BB CC")
    q = score_model(study, lambda q: answers([[0, inf, inf], [inf, 0, inf], [inf, inf, 0]])).questions["q-1"]
    assert (q.er, q.sr) == (pytest.approx(3), pytest.approx(1))


tables = arrays(np.float64, (5, 7), elements=st.floats(-30, 0))
SEVEN = ItemList("l", tuple("abcdefg"), (frozenset({"AA"}),) * 7)


@settings(max_examples=30)
@given(tables)
def test_scores_are_nan_only_for_countries_without_a_listed_item(table: FloatArray) -> None:
    study = study_of(SEVEN, "AA BB CC DD EE")
    q = score_model(study, lambda q: answers(table)).questions["q-1"]
    assert 1 <= q.er <= 5
    assert q.sr >= 1
    assert np.isfinite(q.er_halves).all()
    assert not np.isnan(q.sr_halves).any()
    np.testing.assert_array_equal(np.isnan(q.mass), [False, True, True, True, True])
    np.testing.assert_array_equal(np.isnan(q.mass_null), np.isnan(q.mass))


# --- the reference list


def test_membership_is_countries_by_items(make_study: MakeStudy) -> None:
    study = make_study(countries=["FR", "JP", "US"])
    table = membership(study, study.lists["dishes"])  # benachin, burger, pizza, ratatouille, sushi
    np.testing.assert_array_equal(table, [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 1, 1, 0, 0]])
    assert table.dtype == np.bool_


@pytest.mark.parametrize("normalisation", ["sum", "per_token", "per_byte"])
def test_list_lookup_ignores_the_normalisation(normalisation: str) -> None:
    # Both have "ab" (frequency 1), BB has "né" (1/2). AA: 1 + 1 to 0 + 1/2 = 4 : 1; BB: 2 to 3/2 = 4 : 3.
    lookup = from_list(study_of(TWO), QUESTION)
    np.testing.assert_allclose(
        distribution(lookup, TWO, normalisation), [[4 / 5, 1 / 5], [4 / 7, 3 / 7]], rtol=1e-12
    )


def test_list_lookup_gives_items_of_other_countries_no_probability() -> None:
    items = ItemList("l", ("a", "b"), (frozenset({"AA"}), frozenset({"ZZ"})))
    lookup = from_list(study_of(items), QUESTION)
    np.testing.assert_allclose(distribution(lookup, items, "sum"), [[1, 0], [1, 0]])


def test_list_lookup_is_uniform_where_the_list_names_no_country(make_study: MakeStudy) -> None:
    study = make_study(domains=["numbers"])
    q = score_model(study, lambda q: from_list(study, q)).questions["numbers-1"]
    assert (q.er, q.sr) == (1.0, math.inf)
    assert np.isnan(q.mass).all()


# --- unscored


@pytest.mark.parametrize("row", [[math.nan, 0.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_rows_that_are_not_distributions_leave_the_question_unscored(row: list[float]) -> None:
    score = score_model(study_of(TWO), lambda q: answers([[0.0, 0.0], row]))
    assert score.questions == {}
    assert score.unscored == {"q-1": "NaN or no finite log-probability for 1 countries, the first Bb"}


# --- domains


def test_similarity_of_a_domain_is_the_mean_over_its_phrasings(make_study: MakeStudy) -> None:
    study = make_study(domains=["coins"], variants=[1, 2], countries=["FR", "JP"])
    tables = {1: np.log([[3.0, 4, 1e-300], [4, 3, 1e-300]]), 2: np.zeros((2, 3))}  # cosines 0.96 and 1
    score = score_model(study, lambda q: answers(tables[q.variant]))
    np.testing.assert_allclose(domain_similarity(score)["coins"], [[1, 0.98], [0.98, 1]])
