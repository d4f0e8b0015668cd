import numpy as np
import pytest
import scipy.special

from tasks.metrics.spectral import normalise, softmax


def test_softmax_by_hand() -> None:
    # exp(log 1), exp(log 3) -> 1/4, 3/4; a common factor (log 100) cancels; -inf is exactly 0.
    rows = softmax([np.log([1, 3]) + np.log(100), [-np.inf, -5000.0]])
    assert rows[0] == pytest.approx([0.25, 0.75])
    assert rows[1].tolist() == [0.0, 1.0]


def test_softmax_agrees_with_scipy_and_does_not_underflow() -> None:
    logprobs = np.random.default_rng(0).normal(-4000, 300, size=(20, 500))
    assert softmax(logprobs) == pytest.approx(scipy.special.softmax(logprobs, axis=1), rel=1e-12)
    assert softmax(logprobs).sum(axis=1) == pytest.approx(np.ones(20), rel=1e-14)


def test_softmax_computes_float32_in_float64() -> None:
    logprobs = np.random.default_rng(0).normal(-40, 3, size=(3, 9)).astype(np.float32)
    assert softmax(logprobs).dtype == np.float64
    assert (softmax(logprobs) == softmax(logprobs.astype(np.float64))).all()


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.nan, 0.0], [np.inf, 0.0]])
def test_softmax_names_the_bad_row(row: list[float]) -> None:
    with pytest.raises(ValueError, match=r"row 1 \(Chad\)"):
        softmax([[0.0, 0.0], row], names=["Peru", "Chad"])


def test_normalise_divides_by_length() -> None:
    # Sums of -6 over 3 tokens and -8 over 2: -2 and -4 a token, which turns no order round but the gap.
    assert normalise([[-6.0, -8.0], [-np.inf, -1.0]], [3, 2]).tolist() == [[-2.0, -4.0], [-np.inf, -0.5]]


def test_normalise_refuses_an_item_without_tokens() -> None:
    with pytest.raises(ValueError, match="column 1 has length 0"):
        normalise([[-6.0, -8.0]], [3, 0])
    with pytest.raises(ValueError, match="2 items need as many lengths"):
        normalise([[-6.0, -8.0]], [3])
