"""Finds what an answer claims beside its courtesies, its reasons and its calculation. Pure.

An answer's claim is its statement after the last mark such as "Answer:", or else any of these: its words in
bold, its first sentence, its last one, each without an explanation after it, a calculation before it, or a
reason that leads to it. After words that correct an earlier statement, only the last sentence claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall import locales
from tasks.evaluations.culturall.locales import fold
from tasks.evaluations.culturall.quantities import IS_UNSPACED
from tasks.evaluations.culturall.tokens import tokens
from tasks.evaluations.culturall.values import Date, Number, Time, Word

_BOLD = regex.compile(r"\*\*(.+?)\*\*|__(.+?)__", regex.DOTALL)
# The end of a sentence: a mark of scripts with their own, or a point after a word of three letters or a sign.
_END = regex.compile(
    r"\n+|(?<=[。！？।។])\s*|(?<=[!?؟])\s+(?=\P{Ll})|(?<=\p{L}{3}\.|[)\]»”\"%*]\.)\s+(?=[^\p{Ll}\d\s])|(?<=\d\.)\s+(?=\p{Lu}\p{L}{2})"
)
_PARENTHESES = regex.compile(r"\s*[(（\[【].*[)）\]】]\s*[.。।។]?\s*$", regex.DOTALL)
_DASH = regex.compile(r"\s+[—–-]\s+|\s*(?:——|;|；)\s*|(?<=\p{L}):\s+")
_NOTE = regex.compile(r"\s*[(（]([^()（）]*)[)）](?=\s*\w)")
_EQUALS = regex.compile(r".*(?:=|＝|→|⇒)\s*", regex.DOTALL)
_OPTION = regex.compile(r"^\W*([A-Da-dАВСавс])\s*[.):、]", regex.MULTILINE)
_COPULA = (
    r"\s*(?:[:：]|(?:is|are|هي|هو|es|là|ialah|adalah|је|je|হলো|হল|は|是|为|為|គឺ|៖|—|-)"
    r"(?!\p{L})\s*[:：]?)?"
)
_PICTURES = regex.compile(r"\p{Extended_Pictographic}|[\u200d\ufe0f]")
_EDGES = " \t\n\"'“”„«»‘’「」『』*_`:：,，、.。!！।។"


@lru_cache(maxsize=1 << 14)
def claims(answer: str, language: str) -> tuple[str, ...]:
    """Return the statements of an answer that may be what it claims, each once, the whole answer first."""
    answer = _PICTURES.sub("", locales.unmarked(answer))
    sentences = [part for part in map(_stripped, _END.split(answer)) if part]
    if not sentences:
        return ()
    marked = [after for part in sentences for after in _after_mark(part, language)]
    corrected = any(
        _pattern("corrections", language).search(_same_length(part, language)) for part in sentences
    )
    corrected |= any(_pattern("noes", language).match(_same_length(part, language)) for part in sentences[1:])
    is_list = len({found[1].upper() for found in _OPTION.finditer(answer)}) > 1
    if marked:
        heads: Sequence[str] = [marked[-1]]
    elif is_list or any(_pattern("alternatives", language).match(fold(part)) for part in sentences[1:]):
        heads = ()
    elif corrected:
        heads = [sentences[-1]]
    else:
        bold = {_stripped(found[1] or found[2]) for found in _BOLD.finditer(answer)}
        polite = [part for part in sentences if not _is_courtesy(part, language)] or sentences
        heads = [*(bold if len(bold) == 1 else ()), polite[0], polite[-1]]
    whole = () if corrected or (marked and len(sentences) > 1) else (answer,)
    return tuple(dict.fromkeys([*whole, *(form for head in heads for form in _forms(head, language))]))


def _forms(head: str, language: str) -> Iterator[str]:
    """Yield a statement, and its core without calculation, reason and explanation."""
    yield head
    last = _EQUALS.sub("", head)
    for core in dict.fromkeys((last, _without_note(last, language), _without_note(head, language))):
        yield _stripped(core)
        yield _stripped(_DASH.split(core)[0])
        yield from (_stripped(part) for part in _before_reason(core, language))
        yield from (_stripped(part) for part in _after_reason(core, language))


def _without_note(part: str, language: str) -> str:
    """Return a statement without notes in parentheses; with the one at its end, if it is another value, and
    with those before, if they have a value that the rest does not have.
    """
    rest = tokens(_NOTE.sub("", part), language)
    for inner in list(_NOTE.finditer(part)):
        values = [t for t in tokens(inner[1], language) if isinstance(t, (Number, Date, Time))]
        if all(value in rest for value in values):
            part = part.replace(inner[0], "", 1)
    note = _PARENTHESES.search(part)
    if not note or not part[: note.start()].strip():
        return part
    inside = note[0].strip(" ()（）[]【】.。।។")
    read = tokens(inside, language)
    is_value = len(read) > 0 and not any(isinstance(token, Word) for token in read)
    is_value &= sum(isinstance(token, (Number, Date, Time)) for token in read) < 2
    if is_value or _pattern("alternatives", language).match(_same_length(inside, language)):
        return part
    return part[: note.start()]


def _after_mark(part: str, language: str) -> Iterator[str]:
    """Yield the text after the last mark of an answer, such as "the answer is"; nothing without one."""
    found = list(_pattern("marks", language).finditer(_same_length(part, language)))
    if found and _stripped(part[found[-1].end() :]):
        yield _stripped(part[found[-1].end() :])


def _before_reason(part: str, language: str) -> Iterator[str]:
    found = _pattern("reasons", language).search(_same_length(part, language))
    if found and found.start():
        yield part[: found.start()]


def _after_reason(part: str, language: str) -> Iterator[str]:
    found = list(_pattern("conclusions", language).finditer(_same_length(part, language)))
    if found:
        yield part[found[-1].end() :]


def _is_courtesy(part: str, language: str) -> bool:
    """Return whether a sentence says nothing but that an answer follows."""
    return _pattern("courtesies", language).fullmatch(_same_length(part, language).strip(_EDGES)) is not None


def _same_length(text: str, language: str) -> str:
    """Return the text folded, if that keeps the places of its characters; else in lower case."""
    folded = fold(text, "" if language == "sr" else language)
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
    after = {"marks": _COPULA, "noes": r"\s*[,.!、，。।—–-]"}.get(kind, "")
    return regex.compile(rf"(?:{'|'.join(parts)}){after}")


def _any(forms: Sequence[str]) -> str:
    return "|".join(
        regex.escape(form).replace(r"\ ", r"\s+") for form in sorted(forms, key=len, reverse=True)
    )
