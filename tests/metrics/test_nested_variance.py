"""Components of variance, by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.variance import nested_variance


def test_by_hand() -> None:
    # Persons 1 and 5, repetitions a half apart, one judge: MS between = 2 * 2 * 4 = 16, MS within = 0.125.
    split = nested_variance([[[0.75], [1.25]], [[4.75], [5.25]]])
    assert split is not None
    assert split.person == pytest.approx((16 - 0.125) / 2 / ((16 - 0.125) / 2 + 0.125))
    assert split.repetition == pytest.approx(1 - split.person)
    assert (split.judge, split.rest, split.n_persons) == (None, None, 2)


def test_judges_that_differ_in_level_alone() -> None:
    split = nested_variance([[[1, 3], [1, 3]], [[1, 3], [1, 3]], [[1, 3], [1, 3]]])
    assert split is not None
    assert (split.person, split.repetition, split.judge, split.rest) == (0, 0, 1, 0)


def test_known_components_are_recovered() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    shares = []
    for _ in range(200):
        person, talk = generator.normal(0, 2, (30, 1, 1)), generator.normal(0, 1, (30, 10, 1))
        judge, rest = generator.normal(0, 1, (1, 1, 4)), generator.normal(0, 1, (30, 10, 4))
        split = nested_variance(person + talk + judge + rest)
        assert split is not None
        shares.append(split[:4])
    # 4 : 1 : 1 : 1 of 7; few judges scatter much, so their share is a little low on average.
    assert np.mean(shares, axis=0) == pytest.approx([4 / 7, 1 / 7, 1 / 7, 1 / 7], abs=0.05)


def test_there_is_no_variance_without_repetitions_or_values() -> None:
    assert nested_variance(np.ones((3, 2, 1))) is None
    assert nested_variance(np.arange(3.0).reshape(3, 1, 1)) is None
    assert nested_variance(np.full((3, 2, 1), np.nan)) is None
    with pytest.raises(ValueError, match="persons x repetitions"):
        nested_variance([1.0, 2.0])
