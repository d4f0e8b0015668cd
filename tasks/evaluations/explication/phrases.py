"""Phrases in texts: what a program can tell of what somebody said, and no more. Pure.

A phrase is lower-case words; ``*`` at a word's end stands for any ending. Case, accents, hyphens and
punctuation do not matter. A phrase that is denied ("I am not vegetarian") is not there, unless it begins with
the denial.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent

KINDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(phrases)
    for kind, phrases in tomllib.loads((_FOLDER / "questions.toml").read_text(encoding="utf-8")).items()
}
"""Kind of a question -> the phrases that make it one; ``dish`` asks for the name of a dish."""
DISH = "dish"

_NOT = r"(?:not|never|isn't|aren't|wasn't|don't|doesn't|didn't|nor|without|no)"
_SENTENCE = re.compile(r"(?<=[.!?…。？！])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ALIKE = 0.6
"""Questions that share this part of their words are the same."""


@lru_cache(maxsize=1 << 14)
def plain(text: str) -> str:
    """The words of a text, lower case and without accents, with single spaces between and around them."""
    text = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    letters = "".join(c for c in text if not unicodedata.combining(c))
    return " " + " ".join(_WORD.findall(letters)) + " "


def is_in(phrases: Iterable[str], text: str) -> bool:
    """Whether the text says one of the phrases."""
    words = plain(text)
    return any(_affirmed(phrase, words) for phrase in phrases)


def is_denied(phrases: Iterable[str], text: str) -> bool:
    """Whether the text says one of the phrases with a denial before it."""
    words = plain(text)
    return any(
        _denied(phrase).search(words) for phrase in phrases if not re.match(rf"{_NOT} ", pattern(phrase)[1])
    )


def questions(text: str) -> list[str]:
    """The sentences of a text that end with a question mark."""
    return [s.strip() for s in _SENTENCE.split(text) if s.strip().rstrip("\"'”’»)*_ ").endswith(("?", "？"))]


def kinds(question: str) -> frozenset[str]:
    """What a question is about; nothing: it is open."""
    return frozenset(kind for kind, phrases in KINDS.items() if is_in(phrases, question))


def is_new(question: str, before: Iterable[str]) -> bool:
    """Whether a question is not one of those before in other words."""
    return all(likeness(question, other) < _ALIKE for other in before)


def likeness(first: str, second: str) -> float:
    """Share of the words of two texts that both have (Jaccard), in [0, 1]; 1 for two empty texts."""
    one, other = set(plain(first).split()), set(plain(second).split())
    return len(one & other) / len(one | other) if one | other else 1.0


@lru_cache(maxsize=1 << 14)
def pattern(phrase: str) -> tuple[re.Pattern[str], str]:
    """A phrase within plain words, and the words themselves."""
    return re.compile(rf"(?<= ){as_regex(phrase)}(?= )"), " ".join(_split(phrase))


def as_regex(phrase: str) -> str:
    """What fits a phrase in the words that ``plain`` gives."""
    parts = (re.escape(w.rstrip("*")) + ("[^ ]*" if w.endswith("*") else "") for w in _split(phrase))
    return " ".join(parts)


def _split(phrase: str) -> list[str]:
    """The words of a phrase as ``plain`` has them, with their stars."""
    words: list[str] = []
    for word in phrase.split():
        own = plain(word.rstrip("*")).split()
        words += [*own[:-1], own[-1] + ("*" if word.endswith("*") else "")] if own else []
    return words


def _affirmed(phrase: str, words: str) -> bool:
    """Whether the phrase is there at least once without a denial in the two words before it."""
    found, own = pattern(phrase)
    if re.match(rf"{_NOT}\b", own):
        return found.search(words) is not None
    return any(
        not re.search(rf" {_NOT} (?:[^ ]+ )?$", words[: match.start()]) for match in found.finditer(words)
    )


@lru_cache(maxsize=1 << 14)
def _denied(phrase: str) -> re.Pattern[str]:
    return re.compile(rf" {_NOT} (?:[^ ]+ )?{as_regex(phrase)}(?= )")
