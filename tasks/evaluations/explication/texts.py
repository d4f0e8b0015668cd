"""Finds in a text what a program can find: phrases, questions, leave-taking, labelled parts. Pure.

A phrase is lower-case words; ``*`` at a word's end stands for any ending. Case, accents, hyphens and
punctuation do not matter. A phrase that is denied ("I am not vegetarian") is not there, unless it begins with
the denial.

"I say bye to the children" and "I take care of my two kids" are no leave: people with duties talk so. What is
polite and nothing else is known by ``begin.toml``: a sentence of such phrases alone is a courtesy.

A label begins a line, after whatever marks stand there (``#Dish name:``, ``### Dish name``,
``1. **Dish name** –``, ``"Dish name":``), or stands marked within one (``… #Ingredients: …``). It ends with a
colon, with a dash, or with its line. What repeats the form instead of filling it, such as "(what the dish is
called)" or "[Dish name]", is no content.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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

BEGIN: Mapping[str, Any] = tomllib.loads((_FOLDER / "prompts" / "begin.toml").read_text(encoding="utf-8"))
"""Texts before and around a conversation, and a user's farewells."""
LEAVE: str = BEGIN["leave"]
"""The mark that the simulator is asked to end with."""

_BEFORE = r"(?:[^\w\n]|_){0,12}(?:\d{1,2}[.)](?:[^\w\n]|_){0,8})?(?:<\w{1,6}>)?"
"""Marks, an emoji or a number before a label."""
_INSIDE = r"(?<=[\s.;,!])(?:\#{1,6}|\*{2,3}\#?)[ \t]*"
_ASIDE = r"(?:[*_`\"]*[ \t]*[(\[][^)\]\n]{0,60}[)\]])"
_REST = r"(?:[ \t]+[^\W\d_][^\n:.?!#*]{0,38})"
"""Words that may follow a marked label before its end: "Ingredients for two", "Why it suits you"."""
_PLAIN_REST = r"(?:[ \t]+(?:for|needed|required|list)\b[^\n:.?!]{0,30})?"
_CLOSE = r"(?:</\w{1,6}>|[*_`\"'“”)\]|]*)"
_COLON = rf"[ \t]*{_CLOSE}[ \t]*[:：]{_CLOSE}"
_DASH = rf"{_CLOSE}[ \t]*(?:[-–—=]|[-=]>|→|\|)(?=[ \t]|(?-i:[A-Z]))"
_LINE = rf"{_CLOSE}[ \t]*$"

_LONGEST = 12
"""Words of a heading."""

_NOTHING = {"", "tbd", "tba", "n a", "none", "unknown", "to be decided", "to be determined", "name", "insert"}
_ECHO = 0.5
"""Content that shares this part of its words with what the form says of its section repeats the form."""


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
    before = rf" {_NOT} (?:[^ ]+ )?"
    return any(_pattern(phrase, before).search(words) for phrase in phrases if not _is_denial(phrase))


def questions(text: str) -> list[str]:
    """The sentences of a text that end with a question mark."""
    return [s.strip() for s in _SENTENCE.split(text) if s.strip().rstrip("\"'”’»)*_ ").endswith(("?", "？"))]


def kinds(question: str) -> frozenset[str]:
    """Return the topics of a question; none for an open one."""
    return frozenset(kind for kind, phrases in KINDS.items() if is_in(phrases, question))


def is_new(question: str, before: Iterable[str]) -> bool:
    """Whether a question is not one of those before in other words."""
    return all(likeness(question, other) < _ALIKE for other in before)


def likeness(first: str, second: str) -> float:
    """Share of the words of two texts that both have (Jaccard), in [0, 1]; 1 for two empty texts."""
    one, other = set(plain(first).split()), set(plain(second).split())
    return len(one & other) / len(one | other) if one | other else 1.0


def as_regex(phrase: str) -> str:
    """Return a regex that matches a phrase in the words that ``plain`` gives."""
    parts = (re.escape(w.rstrip("*")) + ("[^ ]*" if w.endswith("*") else "") for w in _split(phrase))
    return " ".join(parts)


def _split(phrase: str) -> list[str]:
    """The words of a phrase as ``plain`` has them, with their stars."""
    words: list[str] = []
    for word in phrase.split():
        own = plain(word.rstrip("*")).split()
        words += [*own[:-1], own[-1] + ("*" if word.endswith("*") else "")] if own else []
    return words


@lru_cache(maxsize=1 << 14)
def _pattern(phrase: str, before: str = "(?<= )") -> re.Pattern[str]:
    """A phrase within the words that ``plain`` gives."""
    return re.compile(rf"{before}{as_regex(phrase)}(?= )")


@lru_cache(maxsize=1 << 14)
def _is_denial(phrase: str) -> bool:
    return re.match(rf"{_NOT}\b", " ".join(_split(phrase))) is not None


def _affirmed(phrase: str, words: str) -> bool:
    """Whether the phrase is there at least once without a denial in the two words before it."""
    matches = _pattern(phrase).finditer(words)
    return any(
        _is_denial(phrase) or not re.search(rf" {_NOT} (?:[^ ]+ )?$", words[: match.start()])
        for match in matches
    )


_FAREWELL, _THANKS, _COURTESY = (
    "|".join(sorted(map(as_regex, BEGIN[name]), key=len, reverse=True))  # "see you later" before "see you"
    for name in ("farewell", "thanks", "courtesy")
)
# Atomic: of "bye bye bye" there are many ways to be made of "bye" and "bye bye", and one is enough.
_POLITE = re.compile(rf" (?>(?:{_FAREWELL}|{_THANKS}|{_COURTESY}) )++")
_TAKES_LEAVE = re.compile(rf" (?:{_FAREWELL}) ")
_THANKING = re.compile(rf" (?:{_THANKS}) ")
_CLAUSE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*|\n")
_QUOTED = re.compile(r"[\"“”«»„]|(?:^|\s)['‘]|['’](?:\s|$)")


def is_farewell(text: str) -> bool:
    """Whether the one who says this leaves.

    True for a text of courtesies alone with a farewell among them; one that ends in such courtesies, thanks
    being there or before them; one that ends with ``LEAVE``. False where a question is asked, or the farewell
    is quoted. Words and sentences are English.
    """
    if re.search(rf"{re.escape(LEAVE)}[\s.!*_]*\Z", text, re.IGNORECASE):
        return True
    sentences = [match[0] for match in _CLAUSE.finditer(text) if plain(match[0]).strip()]
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


class Part(NamedTuple):
    """Text under one label; begin: where the label's line, or its mark, begins in the text."""

    label: str
    begin: int
    content: str


def label_pattern(labels: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """Return the pattern that finds labels in a text; labels: label -> other names of it."""
    names = sorted(_names(labels), key=len, reverse=True)
    name = "|".join(re.escape(n).replace(r"\ ", r"[ \t_-]*").replace("'", "['’]") for n in names)
    name = rf"(?:(?:the|your)[ \t]+)?(?P<{{}}>(?:{name})s?)(?!\w)"
    return re.compile(
        rf"^(?P<marks>{_BEFORE}){name.format('first')}"
        rf"(?:{_ASIDE}?(?:{_PLAIN_REST}{_COLON}|(?P<dash>{_DASH})|(?P<line>{_LINE}))|(?P<rest>{_REST}{_ASIDE}?)(?:{_COLON}|{_LINE}))"
        rf"|{_INSIDE}{name.format('inside')}{_ASIDE}?(?:{_COLON}|{_DASH})",
        re.IGNORECASE | re.MULTILINE,
    )


def labelled_parts(labels: Mapping[str, Sequence[str]], pattern: re.Pattern[str], text: str) -> list[Part]:
    """The labelled parts of a text in their order; pattern: ``label_pattern`` of these."""
    names = _names(labels)
    matches = [match for match in pattern.finditer(text) if _is_label(match)]
    ends = [*(match.start() for match in matches[1:]), len(text)][: len(matches)]
    return [
        Part(
            names[_key(match["first"] or match["inside"], names)],
            match.start(),
            _bare(text[match.end() : end]),
        )
        for match, end in zip(matches, ends, strict=True)
    ]


def heading_before(text: str, begin: int) -> tuple[int, str] | None:
    """Return the start and words of the marked heading right before a place; None where there is none."""
    before = text[:begin].rstrip()
    start = before.rfind("\n") + 1
    line = before[start:]
    words = line.strip(" \t#*_:")
    is_marked = line.lstrip().startswith(("#", "**", "__"))
    if not words or not is_marked or len(words.split()) > _LONGEST or words.endswith(("?", "？")):
        return None
    return start + line.index(words), words


def is_filled(content: str, label: str, holds: str) -> bool:
    """Whether a part says something of its own; holds: what the form says of it."""
    words = plain(content).strip()
    first = next((line.strip() for line in content.splitlines() if line.strip()), "")
    inner = first.strip("*_ \t.\"'`")
    if words in _NOTHING or re.fullmatch(r"\[[^\]]*\]|\{+[^}]*\}+|<[^>]*>|_{2,}", inner):
        return False
    if (
        re.match(r"\([^)]*\)?\s*\Z", inner)
        and likeness(re.sub(r"about \d+ words", "", inner), holds) >= _ECHO
    ):
        return False
    if likeness(inner, holds) >= _ECHO or plain(inner) == plain(label):
        return False
    of_content = questions(content)
    return not of_content or plain(" ".join(of_content)) != plain(content)


def _is_label(match: re.Match[str]) -> bool:
    """Whether a line's beginning is a label: prose that begins with such a word is not marked, or goes on."""
    if match["first"] is None or not (match["dash"] or match["line"] is not None or match["rest"]):
        return True
    is_marked = re.search(r"[^\s\-–—(\"'“]", match["marks"]) is not None
    return is_marked or (match["rest"] is None and match["first"][0].isupper())


def _names(labels: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Every name, without its plural -> the label."""
    names = {other.casefold().removesuffix("s"): label for label, own in labels.items() for other in own}
    return names | {label.casefold().removesuffix("s"): label for label in labels}


def _key(written: str, names: Mapping[str, str]) -> str:
    """The name that is written so."""
    compact = {re.sub(r"[\s_-]", "", name): name for name in names}
    own = re.sub(r"[\s_-]", "", written.casefold().replace("’", "'"))
    return compact.get(own) or compact[own.removesuffix("s")]


def _bare(content: str) -> str:
    return content.strip().strip("|").strip()
