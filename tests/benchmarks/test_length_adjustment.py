"""Which adjustments for length keep models in the order in which they were built."""

from __future__ import annotations

import pytest

from benchmarks.length_adjustment import ADJUSTMENTS, result


@pytest.mark.parametrize("bias", ["fair", "likes length"])
@pytest.mark.parametrize("words", ["as long", "bad ones shorter"])
def test_raw_scores_keep_the_order(words: str, bias: str) -> None:
    own = result("none", words, bias)
    assert own.in_order > 0.99
    assert own.spread > 0.6


def test_every_slope_on_own_explanations_erases_quality() -> None:
    for name in ADJUSTMENTS:
        if "slope" in name and "shuffled" not in name:
            own = result(name, "bad ones shorter", "fair")
            assert own.in_order < 0.95, name
            assert own.spread < 0.35, name
