"""Answers as numbers, what somebody scores who knows nothing, and how hard items are. Pure, on arrays.

Arrays of items are in the order of ``study.items``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.culturall.answers import Answer
from tasks.evaluations.culturall.items import Item
from tasks.evaluations.culturall.matching import LETTERS, plain
from tasks.evaluations.culturall.requests import Study
from tasks.judging.panel import Key
from tasks.loop.rows import Reasons, unless_lost_alone
from tasks.metrics.types import BoolArray, FloatArray

LEVELS = ("easy", "medium", "hard")
LEAST_MODELS = 3
"""As many as Lin et al. (2026, section 2.3.1) measure drafts with."""

UNKNOWN = ""
"""The difficulty of an item that too few models answered."""


@dataclass(frozen=True)
class Scores:
    """One model's answers under one condition: 1 right, 0 wrong, NaN unscored.

    An answer that the model lost (``answers.LOST``) is wrong, as in Lin et al. (2026, section 3), whose
    accuracy is over all items.

    Attributes:
        right: by the judges where any are asked, else by matching.
        reasons: why ``right`` is NaN, "" where it is not.
        matched: by matching; NaN where it could not be measured.
        unanswered: why there is no text, "" where there is one.
    """

    right: FloatArray
    reasons: Reasons
    matched: FloatArray
    unanswered: Reasons

    @property
    def is_answered(self) -> BoolArray:
        """Whether there is a text."""
        return np.asarray(self.unanswered == "", dtype=bool)

    @property
    def unmatched(self) -> Reasons:
        """Why ``matched`` is NaN, "" where it is not."""
        return np.where(np.isnan(self.matched), self.unanswered, "")


def score(study: Study, condition: str, answers: Mapping[Key, Answer]) -> Scores:
    """The answers of one condition."""
    read = [answers[condition, item.item] for item in study.items]
    right = _numbers([answer.counts(bool(study.judges)) for answer in read])
    matched = _numbers([answer.counts(False) for answer in read])
    unanswered = np.array([answer.reason or "" for answer in read], dtype=object)
    why = np.array([answer.reason or answer.unjudged or "" for answer in read], dtype=object)
    reasons = np.where(np.isnan(right), why, "")
    return Scores(*unless_lost_alone(right, reasons, unanswered), matched, unanswered)


def levels(solved: FloatArray) -> NDArray[np.str_]:
    """Difficulty of each item, UNKNOWN where fewer than ``LEAST_MODELS`` answered it.

    As in Lin et al. (2026, section 2.5), by the share of models that solve it: easy from 10 of 15 on, medium
    from 5 of 15, else hard. Give the other models' rows alone when a model's own accuracy by difficulty is
    wanted: else it defines what is hard for itself.

    Args:
        solved: models x items: 1 right, 0 wrong, NaN not scored.
    """
    answered = (~np.isnan(solved)).sum(axis=0)
    n = np.nansum(solved, axis=0)
    # Counts, not shares, decide: 10 of 15 must not fall to rounding.
    named = np.where(3 * n >= 2 * answered, "easy", np.where(3 * n >= answered, "medium", "hard"))
    return np.where(answered >= LEAST_MODELS, named, UNKNOWN)


def published_levels(items: Sequence[Item]) -> NDArray[np.str_] | None:
    """Difficulty by how many of the 15 published settings solve each item; None if one is not known."""
    if any(item.solved is None for item in items):
        return None
    return np.array(
        ["easy" if n >= 10 else "medium" if n >= 5 else "hard" for n in (i.solved or 0 for i in items)]
    )


def constant_letter(items: Sequence[Item]) -> FloatArray:
    """Whether the commonest letter of all choice items is right; NaN for other items. Ties: the first."""
    letters = Counter(item.native.answer for item in items if item.form == "choice")
    best = max(LETTERS, key=lambda letter: letters[letter])
    return np.array([float(i.native.answer == best) if i.form == "choice" else np.nan for i in items])


def another_answer(items: Sequence[Item]) -> FloatArray:
    """How often another free item's answer is right, the mean over all of the language, so that no draw is
    in it; NaN for other items."""
    golds: dict[str, Counter[str]] = {}
    for item in items:
        if item.form == "free":
            golds.setdefault(item.language, Counter())[plain(item.native.answer)] += 1
    return np.array([_share(golds[i.language], i) if i.form == "free" else np.nan for i in items])


def guessing(items: Sequence[Item]) -> FloatArray:
    """Per item, how often one is right who knows nothing: by the commonest letter, or another answer."""
    constant = constant_letter(items)
    return np.where(np.isnan(constant), another_answer(items), constant)


def _share(golds: Counter[str], item: Item) -> float:
    """How many of the other answers are among those that the item accepts."""
    accepted = {plain(text) for text in item.accepted}
    return (sum(golds[text] for text in accepted) - 1) / max(golds.total() - 1, 1)


def _numbers(known: Sequence[bool | None]) -> FloatArray:
    return np.array([np.nan if value is None else float(value) for value in known], dtype=np.float64)
