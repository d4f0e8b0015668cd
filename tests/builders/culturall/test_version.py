"""What is too easy to be published: by rule and by how many settings must have answered it."""

from __future__ import annotations

import pytest

from tasks.builders.culturall.params import ReleaseParams
from tasks.builders.culturall.release import easy


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        # As the paper: what all of its 15 settings solve. Three solvers throw away nothing.
        ({}, {(15, 15), (16, 16)}),
        ({"settings": 3}, {(3, 3), (15, 15), (16, 16)}),
        ({"settings": 3, "leave_out": "easy"}, {(2, 3), (3, 3), (10, 15), (14, 15), (15, 15), (16, 16)}),
        ({"settings": 1, "leave_out": "nothing"}, set()),
    ],
)
def test_what_is_left_out_is_an_option(given: dict[str, object], left_out: set[tuple[int, int]]) -> None:
    params = ReleaseParams.model_validate(given)
    measured = [(0, 0), (1, 3), (2, 3), (3, 3), (9, 15), (10, 15), (14, 15), (15, 15), (16, 16)]
    assert {pair for pair in measured if easy(*pair, params)} == left_out
