"""Makes the sentence about a cohort that the plan, the log, the board and the page share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_NAMED = 6
"""Most models that are named."""

ALONE = (
    "One model alone decides this for all that follow, which favours it: --cohort NAME makes a cohort of a "
    "run's models, with its own leaderboard, and sends no new requests"
)


def cohort_sentence(cohort: str, models: Sequence[str], effect: str = "", is_frozen: bool = True) -> str:
    """Return the size and the members of a cohort, what it determines, and a warning if it is one model.

    Args:
        cohort: its name. models: its members. effect: what of the others' rows it determines.
        is_frozen: false if the run that is planned or scored now will freeze it.
    """
    more = len(models) - _NAMED
    names = [*models[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    state = "" if is_frozen else ", which this run freezes"
    size = f"{len(models)} model{'' if len(models) == 1 else 's'}"
    sentences = [f"cohort {cohort}{state}: {size} ({', '.join(names)})"]
    sentences += [text for text in (effect, ALONE if len(models) == 1 else "") if text]
    return ". ".join(sentences)


def cohort_of_page(members: pl.DataFrame, effect: str = "") -> str | None:
    """Return the sentence about a page's cohort; None if none is frozen. members: the view report_cohort."""
    if not members.height:
        return None
    return cohort_sentence(members["cohort"][0], members["model"].to_list(), effect)
