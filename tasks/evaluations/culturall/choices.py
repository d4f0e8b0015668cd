"""Reads the option that an answer to multiple choice names: by its letter, or by its text. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.claims import claims
from tasks.evaluations.culturall.locales import own_and_english
from tasks.evaluations.culturall.quantities import IS_UNSPACED
from tasks.evaluations.culturall.texts import is_alike, plain, spaced, takes_back
from tasks.evaluations.culturall.tokens import bare, fillers

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
    """Return the option that an answer to multiple choice names: the one that its claims name, if they agree
    (see ``claims``); None if they name none or several.

    further: letter -> other texts of the option, such as its translation.
    """
    of_claims = {claim: _letter_of(claim, question, language, further) for claim in claims(answer, language)}
    by_letter = {letter for claim, letter in of_claims.items() if letter and _LETTER.search(claim)}
    named = by_letter or {letter for letter in of_claims.values() if letter}
    return named.pop() if len(named) == 1 else None


def _letter_of(
    answer: str, question: str, language: str, further: Mapping[str, Sequence[str]] | None
) -> str | None:
    """Return the option that one statement names, by its letter, or by its text or words that no other option
    has; None if it names no option or several, or denies the one that it names.
    """
    texts = {k: [text, *(further or {}).get(k, ())] for k, text in options(question).items()}
    text = unicodedata.normalize("NFKC", answer).strip().rstrip(".!")
    if alone := _ALONE.fullmatch(text):
        return _letter(alone[1])
    flat = plain(_LETTER.sub(lambda found: _letter(found[0]), text))
    same = [
        k for k, forms in texts.items() if flat and any(flat in (plain(v), plain(f"{k} {v}")) for v in forms)
    ]
    first = _OPTION.match(text.lstrip("*_ ("))
    if len(same) == 1 and (not first or _letter(first[1]) == same[0]):
        return same[0]
    letters = {_letter(found[0]) for found in _LETTER.finditer(text)}
    letters |= {_letter(found[1] or found[2]) for found in _MARKED.finditer(text)}
    if len(letters) > 1 or not flat:
        return None
    rest = _without_letter(text, letters)
    named = _named(rest, texts, language)
    if first and letters == {_letter(first[1])} and not _is_text_of_another(rest, first[1], texts, language):
        return _letter(first[1])
    asked = _OPTION.split(question)[0]
    own = " ".join(form for k in letters | set(named) for form in texts.get(k, ()))
    if len(named) > 1 or takes_back(
        answer, own, asked, language, is_number=False, has_bounds=any(map(str.isdecimal, own))
    ):
        return None
    if not letters:
        return named[0] if named else None
    letter = letters.pop()
    if named:
        return letter if named == [letter] else None
    return letter if _stands_alone(text, rest, language) else None


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


def _without_letter(text: str, letters: set[str]) -> str:
    """Return a text without the letter of an option."""
    return _MARKED.sub(" ", _LETTER.sub(" ", text)) if letters else text


def _named(text: str, texts: Mapping[str, Sequence[str]], language: str) -> list[str]:
    """Return the options that a text names: the one that it is, those that it contains, or else those that
    have all its words.
    """
    given = _telling(text, language)
    if not given:
        return []
    drop = _dropped(language)
    wanted = [(k, list(map(bare, spaced(form, language)))) for k, forms in texts.items() for form in forms]
    exact = {k for k, words in wanted if [w for w in words if w not in drop] == given}
    if exact:
        return sorted(exact)
    inside = [
        (k, words) for k, words in wanted if _contains(given, [w for w in words if w not in drop] or words)
    ]
    whole = {k for k, w in inside if not any(k != j and w != v and _contains(v, w) for j, v in inside)}
    return sorted(whole or {k for k, words in wanted if _has_all(words, given)})


def _dropped(language: str) -> frozenset[str]:
    return fillers(language) | own_and_english("sequences", language)


def _telling(text: str, language: str) -> list[str]:
    """Return the words of a text that are no fillers and no words such as "then"."""
    drop = _dropped(language)
    return [word for word in map(bare, spaced(text, language)) if word not in drop]


def _is_text_of_another(rest: str, letter: str, texts: Mapping[str, Sequence[str]], language: str) -> bool:
    """Return whether the text after a letter is that of another option."""
    given = _telling(rest, language)
    return any(
        given == _telling(form, language)
        for k, forms in texts.items()
        for form in forms
        if k != _letter(letter) and given
    )


def _has_all(words: Sequence[str], given: Sequence[str]) -> bool:
    """Return whether an option has all given words; a run without spaces may be part of one of its words."""
    return all(
        any(is_alike(one, word) or (IS_UNSPACED.match(one) and one in word) for word in words)
        for one in given
    )


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether words stand in a text one after another; runs without spaces anywhere."""
    if part and IS_UNSPACED.match(part[0]):
        return "".join(part) in "".join(words)
    n = len(part)
    return n > 0 and any(
        all(
            one == other
            or (len(other) > 4 and is_alike(one, other))
            or (IS_UNSPACED.match(other) is not None and one.startswith(other))
            for one, other in zip(words[at : at + n], part, strict=True)
        )
        for at in range(len(words) - n + 1)
    )


def _stands_alone(text: str, rest: str, language: str) -> bool:
    """Return whether the only letter is the answer: a mark or the end follows it, or only fillers stand
    around it. "A cup" and "В Москве" name no option.
    """
    if not _telling(rest, language):
        return True
    found = next(iter([*_LETTER.finditer(text), *_MARKED.finditer(text)]))
    after = text[found.end() : found.end() + 2].lstrip(" ")
    return not after or not after[0].isalnum() or IS_UNSPACED.match(after) is not None
