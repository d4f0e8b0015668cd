"""Both orders of a pairwise call as one preference."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from tasks.judging.pairwise import Preference, Side, order_swapped

SIDES: tuple[Side, ...] = get_args(Side)


@pytest.mark.parametrize(
    ("as_given", "swapped", "winner", "consistent"),
    [
        ("first", "second", "first", True),
        ("second", "first", "second", True),
        ("tie", "tie", "tie", True),
        ("first", "first", "tie", False),  # always the first place
        ("second", "second", "tie", False),
        ("first", "tie", "tie", False),
        ("tie", "first", "tie", False),
    ],
)
def test_a_winner_wins_in_both_orders(as_given: Side, swapped: Side, winner: Side, consistent: bool) -> None:
    assert order_swapped(as_given, swapped) == Preference(winner, consistent, None)


def test_one_order_is_no_verdict() -> None:
    for as_given, swapped in [("first", None), (None, "second"), (None, "tie")]:
        result = order_swapped(as_given, swapped)  # type: ignore[arg-type]
        assert (result.winner, result.consistent) == (None, None)
        assert result.unscored_reason == "the judge's answer could be read in one order only"
    neither = order_swapped(None, None)
    assert neither == Preference(None, None, "the judge's answer could be read in neither order")


def test_exchanging_the_candidates_exchanges_the_winner() -> None:
    other = {"first": "second", "second": "first", "tie": "tie"}
    for as_given, swapped in product(SIDES, SIDES):
        result, exchanged = order_swapped(as_given, swapped), order_swapped(swapped, as_given)
        assert result.winner is not None
        assert exchanged.winner == other[result.winner]
        assert exchanged.consistent == result.consistent
