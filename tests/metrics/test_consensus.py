import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.consensus import competence, mantel, nearest, paraphrase_agreement
from tasks.metrics.spectral import cosine_similarity
from tasks.metrics.types import FloatArray


def random_similarity(seed: int, n: int = 12) -> FloatArray:
    return cosine_similarity(np.random.default_rng(seed).dirichlet(np.full(30, 0.3), size=n))


# --- competence


def test_rank_one_model_is_recovered() -> None:
    # Romney et al.: the agreement of two informants is the product of their competences. With the products on
    # the diagonal as well, the first factor is the competence itself.
    truth = np.array([0.9, 0.7, 0.4, 0.2])
    assert competence(np.outer(truth, truth)) == pytest.approx(truth)


def test_countries_outside_the_largest_block_have_no_competence() -> None:
    similarity = np.kron(np.eye(2), np.ones((3, 3)))[:5, :5]  # blocks of 3 and 2
    assert competence(similarity) == pytest.approx([1, 1, 1, 0, 0], abs=1e-12)


def test_many_equal_eigenvalues_below_the_leading_one_hide_it_not() -> None:
    """LAPACK's search for the two largest eigenvalues of such a matrix returns none (n = 15)."""
    for n in range(3, 40):
        loadings = competence(np.full((n, n), 3 / 19) + np.eye(n) * 16 / 19)
        assert loadings is not None
        assert loadings == pytest.approx(np.full(n, loadings[0]))


def test_identical_countries_are_fully_competent() -> None:
    assert competence(np.ones((5, 5))) == pytest.approx(np.ones(5))
    assert competence(np.ones((1, 1))) == pytest.approx([1])


@pytest.mark.parametrize(
    "similarity", [np.eye(4), np.kron(np.eye(2), np.ones((3, 3))), np.array([[1, -1], [-1, 1]])]
)
def test_competence_without_a_leading_pattern_is_unscored(similarity: FloatArray) -> None:
    assert competence(similarity) is None


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_competence_is_in_range_sums_to_lambda_1_and_ignores_order(seed: int) -> None:
    similarity = random_similarity(seed)
    scores = competence(similarity)
    assert scores is not None
    assert scores.sum() > 0
    assert scores.min() >= -1e-12
    assert scores.max() <= 1
    # The squares add up to lambda_1 (power iteration as the second implementation).
    vector = np.ones(len(similarity))
    for _ in range(2000):
        vector = similarity @ vector
        vector /= np.linalg.norm(vector)
    assert scores @ scores == pytest.approx(vector @ similarity @ vector)
    order = np.random.default_rng(seed).permutation(len(similarity))
    reordered = competence(similarity[np.ix_(order, order)])
    assert reordered == pytest.approx(scores[order], abs=1e-9)


# --- nearest


def test_nearest_leaves_a_country_itself_out_and_takes_ties_by_index() -> None:
    similarity = np.array([[1, 0.5, 1, 0.5], [0.5, 1, 0.5, 0.5], [1, 0.5, 1, 0.1], [0.5, 0.5, 0.1, 1]])
    index, value = nearest(similarity, 2)
    assert index.tolist() == [[2, 1], [0, 2], [0, 1], [0, 1]]
    assert value.tolist() == [[1, 0.5], [0.5, 0.5], [1, 0.5], [0.5, 0.5]]


def test_cosines_equal_but_for_rounding_are_ties() -> None:
    similarity = np.array([[1, 0.3, 0.1 + 0.2], [0.3, 1, 0], [0.1 + 0.2, 0, 1]])
    assert similarity[0, 2] > similarity[0, 1]
    assert nearest(similarity, 1)[0][0].tolist() == [1]


@pytest.mark.parametrize("k", [0, 3])
def test_nearest_refuses_k_outside_1_and_n_minus_1(k: int) -> None:
    with pytest.raises(ValueError, match="have 1 to 2 neighbours"):
        nearest(np.eye(3), k)


# --- Mantel


def test_mantel_is_pearson_of_the_off_diagonals() -> None:
    a, b = random_similarity(1), random_similarity(2)
    expected = scipy.stats.pearsonr(
        scipy.spatial.distance.squareform(a, checks=False), scipy.spatial.distance.squareform(b, checks=False)
    )
    assert mantel(a, b) == pytest.approx(expected.statistic)
    assert mantel(a, 0.5 * a + 0.1) == pytest.approx(1)
    assert mantel(a, 1 - a) == pytest.approx(-1)


def test_mantel_needs_variation() -> None:
    wobbly = np.ones((5, 5))  # equal but for the last bits, as computed cosines of identical rows are
    wobbly[0, 1] = wobbly[1, 0] = 1 - 2e-16
    assert mantel(random_similarity(1, 5), wobbly) is None
    assert mantel(np.eye(2), np.eye(2)) is None


def test_paraphrase_agreement_is_the_mean_over_pairs() -> None:
    a, b, c = (random_similarity(seed) for seed in range(3))
    pairs = [mantel(a, b), mantel(a, c), mantel(b, c)]
    assert paraphrase_agreement([a, b, c]) == pytest.approx(np.mean([p for p in pairs if p is not None]))
    assert paraphrase_agreement([c, a, b]) == pytest.approx(paraphrase_agreement([a, b, c]))


def test_paraphrase_agreement_is_unscored_if_one_phrasing_is_constant() -> None:
    a, b = random_similarity(0), random_similarity(1)
    assert paraphrase_agreement([a, b, np.ones_like(a)]) is None


def test_consensus_refuses_wrong_matrices() -> None:
    with pytest.raises(ValueError, match="two phrasings"):
        paraphrase_agreement([np.eye(3)])
    with pytest.raises(ValueError, match="cannot compare 3 countries with 4"):
        mantel(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="not symmetric"):
        competence(np.array([[1, 0.5], [0.2, 1]]))
    with pytest.raises(ValueError, match="square"):
        competence(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not finite"):
        competence(np.array([[1, np.nan], [np.nan, 1]]))
