"""Tells whether a turn takes leave: as a whole, at its end after thanks, or by the mark asked for. Pure.

"I say bye to the children" and "I take care of my two kids" are no leave: people with duties talk so. What is
polite and nothing else is known by ``begin.toml``: a sentence of such phrases alone is a courtesy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tasks.evaluations.explication.phrases import as_regex, plain

BEGIN: Mapping[str, object] = tomllib.loads(
    Path(__file__).with_name("prompts").joinpath("begin.toml").read_text(encoding="utf-8")
)
"""What is said before and around a conversation, and how a user takes leave."""
LEAVE = str(BEGIN["leave"])
"""The mark that the simulator is asked to end with."""


def _phrases(name: str) -> tuple[str, ...]:
    return tuple(BEGIN[name])  # type: ignore[arg-type]


def _any_of(phrases: Iterable[str]) -> str:
    """The longest first, so that "see you later" is not left at "see you"."""
    return "|".join(sorted(map(as_regex, phrases), key=len, reverse=True))


_FAREWELL, _THANKS = _any_of(_phrases("farewell")), _any_of(_phrases("thanks"))
# Atomic: of "bye bye bye" there are many ways to be made of "bye" and "bye bye", and one is enough.
_POLITE = re.compile(rf" (?>(?:{_FAREWELL}|{_THANKS}|{_any_of(_phrases('courtesy'))}) )++")
_TAKES_LEAVE = re.compile(rf" (?:{_FAREWELL}) ")
_THANKING = re.compile(rf" (?:{_THANKS}) ")
_SENTENCE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*|\n")
_QUOTED = re.compile(r"[\"“”«»„]|(?:^|\s)['‘]|['’](?:\s|$)")


def is_farewell(text: str) -> bool:
    """Whether the one who says this leaves.

    True for a text of courtesies alone with a farewell among them; one that ends in such courtesies, thanks
    being there or before them; one that ends with ``LEAVE``. False where a question is asked, or the farewell
    is quoted. Words and sentences are English.
    """
    if re.search(rf"{re.escape(LEAVE)}[\s.!*_]*\Z", text, re.IGNORECASE):
        return True
    sentences = [match[0] for match in _SENTENCE.finditer(text) if plain(match[0]).strip()]
    if not sentences or any(sentence.rstrip().endswith(("?", "？")) for sentence in sentences):
        return False
    n_polite = 0
    while n_polite < len(sentences) and _is_polite(sentences[-1 - n_polite]):
        n_polite += 1
    end = " ".join(sentences[len(sentences) - n_polite :])
    if not n_polite or not _TAKES_LEAVE.search(plain(end)):
        return False
    return n_polite == len(sentences) or _THANKING.search(plain(text)) is not None


def _is_polite(sentence: str) -> bool:
    return _POLITE.fullmatch(plain(sentence)) is not None and not _QUOTED.search(sentence)
