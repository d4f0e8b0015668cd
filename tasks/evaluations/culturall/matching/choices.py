"""Reads the option that an answer to multiple choice names: by its letter, or by its text. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.matching.locales import own_and_english
from tasks.evaluations.culturall.matching.quantities import IS_UNSPACED
from tasks.evaluations.culturall.matching.texts import is_alike, plain, spaced, statement
from tasks.evaluations.culturall.matching.tokens import bare, fillers

LETTERS = ("A", "B", "C", "D")
"""The options of multiple choice."""

# Letters of other alphabets that look like the options' letters, on the keyboards of four of the languages.
_LOOKALIKES = str.maketrans("АВСΑΒԀавс", "ABCABDabc")
_NEAR = r"\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{N}"
_LETTER = regex.compile(rf"(?<![{_NEAR}])([A-DАВСΑΒԀ])(?![{_NEAR}])")
_ALONE = regex.compile(r"[\W_]*([A-Da-dАВСΑΒԀавс])[\W_]*")
_MARKED = regex.compile(r"\(\s*([A-Da-dАВСавс])\s*\)|(?<![\p{L}\p{N}])([a-dавс])\)")
_OPTION = regex.compile(r"(?<![^\W_])([A-DАВСΑΒ])\s*[.):、]\s*")


def chosen_letter(
    answer: str, question: str, language: str = "en", further: Mapping[str, Sequence[str]] | None = None
) -> str | None:
    """Return the option that an answer to multiple choice names in a plain form: by its letter, by its text
    or words that no other option has, or by both.

    None if it is not read: it names none or several, or has words that are neither an option's nor claim
    nothing.

    further: letter -> other texts of the option, such as its translation.
    """
    said = statement(answer, (language, "en"))
    if said is None:
        return None
    texts = {k: [text, *(further or {}).get(k, ())] for k, text in options(question).items()}
    text = unicodedata.normalize("NFKC", said).strip().rstrip(".!")
    if alone := _ALONE.fullmatch(text):
        return _letter(alone[1])
    flat = {plain(text), plain(_LETTER.sub(lambda found: _letter(found[0]), text))} - {""}
    same = [k for k, forms in texts.items() if any({plain(v), plain(f"{k} {v}")} & flat for v in forms)]
    first = _OPTION.match(text.lstrip("*_ ("))
    if len(same) == 1 and (not first or _letter(first[1]) == same[0]):
        return same[0]
    letters = {_letter(found[0]) for found in _LETTER.finditer(text)}
    letters |= {_letter(found[1] or found[2]) for found in _MARKED.finditer(text)}
    rest = _telling(_MARKED.sub(" ", _LETTER.sub(" ", text)) if letters else text, language)
    named = set(_named(rest, texts, language))
    if len(letters) > 1 or len(named) > 1 or (rest and not named) or not flat:
        return None
    return (letters | named).pop() if len(letters | named) == 1 else None


def options(question: str) -> dict[str, str]:
    """Return letter -> text of the options in a question, written "A. text" or "A) text"; {} if one is
    missing.
    """
    text = unicodedata.normalize("NFKC", question)
    starts: dict[str, regex.Match[str]] = {}
    for mark in _OPTION.finditer(text):
        if (letter := _letter(mark[1])) not in starts and len(starts) < 4 and letter == LETTERS[len(starts)]:
            starts[letter] = mark
    if tuple(starts) != LETTERS:
        return {}
    ends = [later.start() for _, later in pairwise(starts.values())] + [len(text)]
    return {
        letter: text[mark.end() : end].strip(" \n;,/")
        for (letter, mark), end in zip(starts.items(), ends, strict=True)
    }


def gold_letter(answer: str) -> str | None:
    """Return the letter of an answer such as "(b)"; None if it is none of the options'."""
    alone = _ALONE.fullmatch(unicodedata.normalize("NFKC", answer).strip())
    return _letter(alone[1]) if alone else None


def _letter(character: str) -> str:
    return character.translate(_LOOKALIKES).upper()


def _telling(text: str, language: str) -> list[str]:
    """Return the words of a text that do claim something."""
    kinds = ("frames", "sequences", "marks")
    drop = fillers(language).union(*(own_and_english(kind, language) for kind in kinds))
    return [word for word in map(bare, spaced(text, language)) if word not in drop]


def _named(given: list[str], texts: Mapping[str, Sequence[str]], language: str) -> list[str]:
    """Return the options whose telling words are the given ones, or else those that have all of them."""
    if not given:
        return []
    wanted = [(k, _telling(form, language)) for k, forms in texts.items() for form in forms]
    return sorted(
        {k for k, words in wanted if words == given} or {k for k, words in wanted if _has_all(words, given)}
    )


def _has_all(words: Sequence[str], given: Sequence[str]) -> bool:
    """Return whether an option has all given words; a run without spaces may be part of one of its words."""
    return all(
        any(is_alike(one, word) or (IS_UNSPACED.match(one) and one in word) for word in words)
        for one in given
    )
