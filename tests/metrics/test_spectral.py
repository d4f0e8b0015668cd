"""Golden numbers with their arithmetic, a second implementation, and invariances of the spectrum."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.metrics.spectral import (
    cosine_similarity,
    effective_rank,
    eigenvalues,
    er_sr_category,
    normalise,
    softmax,
    spectral_gap_ratio,
)
from tasks.metrics.types import FloatArray


def er_and_sr(h: FloatArray) -> tuple[float, float]:
    spectrum = eigenvalues(h)
    return effective_rank(spectrum), spectral_gap_ratio(spectrum)


def blocks(*sizes: int) -> FloatArray:
    """Return identical rows within a block, no item in common between blocks."""
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


# --- golden numbers


@pytest.mark.parametrize("n", [2, 3, 170])
def test_unrelated_countries_have_full_rank_and_no_gap(n: int) -> None:
    # A = I: every eigenvalue is 1, every share 1/n. ER = exp(log n) = n; SR = 1/1.
    assert er_and_sr(np.eye(n)) == pytest.approx((n, 1), rel=1e-14)


def test_spectrum_of_three_countries_sharing_one_item_pairwise_is_golden() -> None:
    h = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    # Every cosine is 0.25 / (sqrt(.5) * sqrt(.5)) = 1/2, so A = I/2 + J/2 with eigenvalues 1/2 + 3/2, 1/2,
    # 1/2. Shares 2/3, 1/6, 1/6: ER = exp(2/3 log 3/2 + 2 * 1/6 log 6) = 1.5^(2/3) * 6^(1/3). SR = 2 / (1/2).
    assert cosine_similarity(h) == pytest.approx(np.full((3, 3), 0.5) + np.eye(3) / 2)
    assert eigenvalues(h) == pytest.approx([2, 0.5, 0.5])
    assert er_and_sr(h) == pytest.approx((1.5 ** (2 / 3) * 6 ** (1 / 3), 4), rel=1e-12)


@pytest.mark.parametrize(("n", "t"), [(2, 1), (170, 21), (170, 170), (170, 3750)])
def test_identical_rows_have_rank_1_and_an_infinite_gap(n: int, t: int) -> None:
    # A = J: eigenvalues n, 0, 0, ...: ER = exp(0) = 1, SR = n/0. Rounding must not turn the zeros into
    # numbers.
    row = np.random.default_rng(3).dirichlet(np.ones(t))
    assert er_and_sr(np.tile(row, (n, 1))) == (1.0, math.inf)


def test_nearly_identical_rows_keep_their_small_eigenvalues() -> None:
    # Rows (1, d e_i): cosine 1/(1 + d^2) off the diagonal, so lambda_2 = d^2/(1 + d^2) and
    # SR = (n + d^2) / d^2. With d = 1e-5 an eigenvalue routine on A would keep about four digits of lambda_2.
    n, d = 170, 1e-5
    h = np.hstack([np.ones((n, 1)), d * np.eye(n)])
    assert er_and_sr(h)[1] == pytest.approx((n + d * d) / (d * d), rel=1e-8)
    on_a = scipy.linalg.eigvalsh(cosine_similarity(h))[::-1]
    assert on_a[0] / on_a[1] != pytest.approx((n + d * d) / (d * d), rel=1e-8)


@pytest.mark.parametrize(("d", "correct"), [(1e-7, 1e-6), (1e-9, 1e-4), (1e-10, 1e-2)])
def test_a_gap_beyond_rounding_of_eigenvalues_is_finite(d: float, correct: float) -> None:
    # As above; SR is 1.7e16, 1.7e20 and 1.7e22, where n * eps * lambda_1 would cut lambda_2 off.
    n = 170
    h = np.hstack([np.ones((n, 1)), d * np.eye(n)])
    assert er_and_sr(h)[1] == pytest.approx((n + d * d) / (d * d), rel=correct)


# --- a second implementation


@pytest.mark.parametrize("t", [5, 30, 400])
def test_similarity_spectrum_and_rank_agree_with_scipy(t: int) -> None:
    h = np.random.default_rng(t).dirichlet(np.full(t, 0.3), size=30)
    similarity = np.array([[1 - scipy.spatial.distance.cosine(x, y) for x in h] for y in h])
    spectrum = scipy.linalg.eigvalsh(similarity)[::-1]
    assert cosine_similarity(h) == pytest.approx(similarity, abs=1e-14)
    assert eigenvalues(h) == pytest.approx(spectrum, abs=1e-12)
    assert effective_rank(eigenvalues(h)) == pytest.approx(
        math.exp(scipy.stats.entropy(spectrum[spectrum > 1e-12])), rel=1e-10
    )


# --- what the numbers must not depend on

# Counts instead of arbitrary floats, because such code breaks on ties, zeros and equal rows.
tables = arrays(
    np.float64, st.tuples(st.integers(2, 7), st.integers(1, 9)), elements=st.integers(0, 4).map(float)
).filter(lambda h: bool(h.any(axis=1).all()))
seeds = st.integers(0, 2**32 - 1)


CHANGES: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]] = {
    "order of countries": lambda h, rng: rng.permutation(h, axis=0),
    "order of items": lambda h, rng: rng.permutation(h, axis=1),
    "scale of each row": lambda h, rng: h * 10 ** rng.uniform(-200, 100, (len(h), 1)),
    "items nobody names": lambda h, rng: np.hstack([h, np.zeros((len(h), int(rng.integers(1, 9))))]),
    "an item split in two equal columns each": lambda h, _: np.repeat(h, 2, axis=1),
}


@pytest.mark.parametrize("change", CHANGES)
@given(h=tables, seed=seeds)
@settings(max_examples=60, deadline=None)
def test_the_spectrum_does_not_depend_on_order_scale_or_splits(change: str, h: FloatArray, seed: int) -> None:
    other = CHANGES[change](h, np.random.default_rng(seed))
    assert eigenvalues(other) == pytest.approx(eigenvalues(h), abs=1e-12)
    (er, sr), (other_er, other_sr) = er_and_sr(h), er_and_sr(other)
    assert other_er == pytest.approx(er, rel=1e-10)
    assert other_sr == pytest.approx(sr, rel=1e-9)


@given(h=tables)
@settings(max_examples=200, deadline=None)
def test_spectrum_rank_and_gap_stay_in_range(h: FloatArray) -> None:
    spectrum = eigenvalues(h)
    assert spectrum.shape == (len(h),)
    assert (np.diff(spectrum) <= 0).all()
    assert spectrum.sum() == pytest.approx(len(h))
    assert 1 <= effective_rank(spectrum) <= len(h)
    assert spectral_gap_ratio(spectrum) >= 1


@given(h=tables)
@settings(max_examples=100, deadline=None)
def test_similarity_is_symmetric_with_unit_diagonal(h: FloatArray) -> None:
    similarity = cosine_similarity(h)
    assert (similarity == similarity.T).all()
    assert (np.diag(similarity) == 1).all()
    assert similarity.min() >= 0
    assert similarity.max() <= 1


def test_float32_is_computed_in_float64() -> None:
    h = np.random.default_rng(0).dirichlet(np.ones(50), size=20).astype(np.float32)
    assert eigenvalues(h).dtype == cosine_similarity(h).dtype == np.float64
    assert (eigenvalues(h) == eigenvalues(h.astype(np.float64))).all()


def test_the_input_is_not_changed() -> None:
    h = np.random.default_rng(0).random((4, 6))
    before = h.copy()
    cosine_similarity(h), eigenvalues(h)
    assert (h == before).all()


# --- categories and errors


def test_the_first_letter_of_a_category_is_er_and_the_second_sr() -> None:
    assert er_sr_category(er_high=False, sr_high=True) == "LH"
    assert er_sr_category(er_high=True, sr_high=False) == "HL"
    assert er_sr_category(er_high=True, sr_high=True) == "HH"
    assert er_sr_category(er_high=False, sr_high=False) == "LL"


@pytest.mark.parametrize("function", [cosine_similarity, eigenvalues])
@pytest.mark.parametrize(
    ("bad", "fault"), [(0.0, "zero throughout"), (math.nan, "not finite"), (math.inf, "not finite")]
)
def test_a_zero_or_infinite_row_is_refused_with_its_country(
    function: Callable[..., FloatArray], bad: float, fault: str
) -> None:
    h = np.ones((3, 4))
    h[1] = bad
    with pytest.raises(ValueError, match=rf"row 1 {fault}|row 1 (is|has a value that is) {fault}"):
        function(h)
    with pytest.raises(ValueError, match=r"row 1 \(Chad\)"):
        function(h, names=["Peru", "Chad", "Fiji"])


def test_wrong_shapes_and_spectra_are_refused() -> None:
    with pytest.raises(ValueError, match="2 names were given for 3 rows"):
        eigenvalues(np.ones((3, 4)), names=["Peru", "Chad"])
    with pytest.raises(ValueError, match="non-empty 2-D"):
        cosine_similarity(np.ones(3))
    with pytest.raises(ValueError, match="two countries"):
        spectral_gap_ratio([1.0])
    with pytest.raises(ValueError, match="none of them negative"):
        effective_rank([2.0, -1.0])
    with pytest.raises(ValueError, match="no eigenvalue is positive"):
        effective_rank([0.0, 0.0])


# --- distributions of items


def test_hand_calculation_gives_softmax() -> None:
    # exp(log 1), exp(log 3) -> 1/4, 3/4; a common factor (log 100) cancels; -inf is exactly 0.
    rows = softmax([np.log([1, 3]) + np.log(100), [-np.inf, -5000.0]])
    assert rows[0] == pytest.approx([0.25, 0.75])
    assert rows[1].tolist() == [0.0, 1.0]


def test_softmax_computes_float32_in_float64() -> None:
    logprobs = np.random.default_rng(0).normal(-40, 3, size=(3, 9)).astype(np.float32)
    assert softmax(logprobs).dtype == np.float64
    assert (softmax(logprobs) == softmax(logprobs.astype(np.float64))).all()


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.nan, 0.0], [np.inf, 0.0]])
def test_softmax_refuses_a_wrong_row_with_its_country(row: list[float]) -> None:
    with pytest.raises(ValueError, match=r"row 1 \(Chad\)"):
        softmax([[0.0, 0.0], row], names=["Peru", "Chad"])


def test_normalise_divides_log_probabilities_by_tokens() -> None:
    # Sums of -6 over 3 tokens and -8 over 2: -2 and -4 per token; the order stays, the gap changes.
    assert normalise([[-6.0, -8.0], [-np.inf, -1.0]], [3, 2]).tolist() == [[-2.0, -4.0], [-np.inf, -0.5]]


def test_normalise_refuses_zero_and_missing_lengths() -> None:
    with pytest.raises(ValueError, match="column 1 has length 0"):
        normalise([[-6.0, -8.0]], [3, 0])
    with pytest.raises(ValueError, match="give one length for each of 2 items"):
        normalise([[-6.0, -8.0]], [3])
