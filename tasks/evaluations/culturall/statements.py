"""Finds the one statement of a short answer, and answers that say that they do not know. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall import locales
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED

# The end of a sentence: a mark of scripts with their own, or a point after a word of three letters or a sign.
_END = regex.compile(
    r"\n+|(?<=[。！？।។])\s*|(?<=[!?؟])\s+|(?<=\p{L}{3}\.|[)\]»”\"%*]\.)\s+(?=[^\p{Ll}\d\s])"
)
_COPULA = (
    r"\s*(?:[:：]|(?:is|are|هي|هو|es|là|ialah|adalah|је|je|হলো|হল|は|是|为|為|គឺ|៖|—|-)"
    r"(?!\p{L})\s*[:：]?)?"
)
_PICTURES = regex.compile(r"\p{Extended_Pictographic}|[\u200d\ufe0f]")
_MARKUP = regex.compile(r"\*\*|__|`")
_CALCULATION = regex.compile(r"^[\d\s.,+\-−–×xх*÷/:()%]+[=＝]\s*(?=\S)")
_EDGES = " \t\n\"'“”„«»‘’「」『』*_`:：,，、.。!！।។"


def statement(answer: str, languages: Iterable[str]) -> str | None:
    """Return an answer's only sentence without markup and a mark such as "Answer:" before it; None if there
    are several sentences, or none.
    """
    text = _MARKUP.sub("", _PICTURES.sub("", locales.unmarked(answer)))
    sentences = [part for part in map(_stripped, _END.split(text)) if part]
    marks = [_pattern("marks", language) for language in languages]
    while len(sentences) > 1 and any(mark.fullmatch(_same_length(sentences[0])) for mark in marks):
        del sentences[0]
    if len(sentences) != 1:
        return None
    said = sentences[0]
    for mark in marks:
        found = mark.match(_same_length(said))
        if found and (after := _stripped(said[found.end() :])):
            said = after
            break
    return str(_CALCULATION.sub("", said))


def knows_nothing(answer: str, languages: Iterable[str]) -> bool:
    """Return whether an answer says only that its author does not know."""
    said = " ".join(regex.sub(r"[^\p{L}\p{M}]+", " ", _same_length(answer)).split())
    return any(_pattern("unknowns", language).fullmatch(said) for language in languages)


def _same_length(text: str) -> str:
    """Return the text folded, if that keeps the places of its characters; else in lower case."""
    folded = fold(text)
    return folded if len(folded) == len(text) else text.lower()


def _stripped(text: str) -> str:
    return text.strip(_EDGES)


@cache
def _pattern(kind: str, language: str) -> regex.Pattern[str]:
    """Return the pattern of a table of phrases, in a language and in English; whole words where there are
    spaces."""
    forms = locales.own_and_english(kind, "" if language == "sr" else language)
    forms |= frozenset(locales.listed(kind, "sr", "")) if language == "sr" else frozenset()
    spaced = [form for form in forms if not IS_UNSPACED.match(form)]
    together = [form for form in forms if form not in spaced]
    parts = [rf"(?<![\p{{L}}\p{{M}}])(?:{_any(spaced)})(?![\p{{L}}\p{{M}}])"] if spaced else []
    parts += [f"(?:{_any(together)})"] if together else []
    return regex.compile(rf"(?:{'|'.join(parts)}){_COPULA if kind == 'marks' else ''}")


def _any(forms: list[str]) -> str:
    return "|".join(
        regex.escape(form).replace(r"\ ", r"\s+") for form in sorted(forms, key=len, reverse=True)
    )
