"""Which of two is better, asked in both orders: a judge that likes the first place must not decide. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["first", "second", "tie"]
"""What the judge preferred, by its place in the prompt."""

_FROM_SWAPPED: dict[Side, Side] = {"first": "second", "second": "first", "tie": "tie"}


@dataclass(frozen=True)
class Preference:
    """Two calls as one.

    Attributes:
        winner: "first" or "second" candidate, or "tie"; None where unscored.
        consistent: whether both orders gave the same; None where unscored.
    """

    winner: Side | None
    consistent: bool | None
    unscored_reason: str | None


def order_swapped(as_given: Side | None, swapped: Side | None) -> Preference:
    """Candidates compared as (first, second), and again as (second, first).

    Args:
        as_given, swapped: the side that each call preferred, None where its answer could not be read. In the
            swapped call the side "first" is the second candidate.

    A winner must win in both orders; where they disagree, it is a tie. One order alone is no verdict.
    """
    if as_given is None or swapped is None:
        read = "neither order" if as_given is swapped else "one order only"
        return Preference(None, None, f"the judge's answer could be read in {read}")
    if as_given == _FROM_SWAPPED[swapped]:
        return Preference(as_given, True, None)
    return Preference("tie", False, None)
