"""BLEnD's scores of a short answer, after its published evaluation (Myung et al. 2024). Pure.

Annotators' answers are grouped by meaning, each group with its count, the most frequent first. The first
group with an answer in the text gives the score: 1 (SEM-B), and its count over the first group's (SEM-W).
Answers in the local language are tried first, then those in English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from string import punctuation
from typing import NamedTuple

Lemmas = Callable[[str], Sequence[str]]
"""A text -> its lemmas, in order."""

MOST_WITHOUT, MOST_UNKNOWING = 3, 5
"""Limits for dropping a question: annotators without an applicable answer, and those who did not know."""

_FULL_WIDTH = str.maketrans({"：": ":", "、": ",", "，": ",", "。": "."})
_LABEL = re.compile(r"^(\w+:)\s")
_ACUTE = {0x301: None}


class AnswerGroup(NamedTuple):
    """Answers that mean the same.

    Attributes:
        local, english: answers as annotators wrote them, and their translations. votes: number of annotators.
    """

    local: tuple[str, ...]
    english: tuple[str, ...]
    votes: int


def answer_of(text: str, prompt: str) -> str:
    """Return the part of a text that is compared, in lower case: without the prompt, a label of it at the
    beginning, such as "Answer:", and dots at the end."""
    answer = text.replace(prompt, "").translate(_FULL_WIDTH).lower()
    label = match[1] if (match := _LABEL.match(answer)) else ""
    if label and label.replace(":", "") in prompt.translate(_FULL_WIDTH).lower():
        answer = answer.replace(label, "")
    return answer.strip().strip(".").lower()


def scores(
    answer: str, groups: Sequence[AnswerGroup], local: Lemmas | None, english: Lemmas
) -> tuple[float, float]:
    """Return SEM-B and SEM-W of an answer, each in [0, 1]; higher is better.

    Args:
        answer: as ``answer_of``; an empty one scores 0.
        groups: the most frequent first. local: None where the local language is English.
    """
    if not answer:
        return 0.0, 0.0
    for group in groups:
        own = local is not None and any(is_in(each, answer, local) for each in group.local)
        if own or any(is_in(each, answer, english) for each in group.english):
            return 1.0, group.votes / groups[0].votes
    return 0.0, 0.0


def is_in(accepted: str, answer: str, lemmas: Lemmas) -> bool:
    """Return whether an answer contains an accepted answer: its letters, with - and spaces exchangeable, or
    all of its lemmas, in any order. Every answer contains an accepted answer without letters or digits."""
    if any(form in answer for form in (accepted, accepted.replace("-", " "), accepted.replace(" ", "-"))):
        return True
    return _folded(accepted, lemmas) <= _folded(answer, lemmas)


@lru_cache(maxsize=1 << 16)
def _folded(text: str, lemmas: Lemmas) -> frozenset[str]:
    """Return the lemmas of a text but for punctuation, in lower case and without acute accents."""
    words = (each for each in lemmas(text) if each not in punctuation)
    return frozenset(unicodedata.normalize("NFD", each).translate(_ACUTE).lower() for each in words)


def words(text: str) -> list[str]:
    """Return the words of a text without punctuation around them; used instead of lemmas."""
    return [word for each in text.split() if (word := each.strip(punctuation))]
