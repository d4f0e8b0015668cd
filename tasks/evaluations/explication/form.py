"""Finds the labelled parts of a text, however a model marks its labels, and what holds nothing. Pure.

A label begins a line, after whatever marks stand there (``#Dish name:``, ``### Dish name``,
``1. **Dish name** –``, ``"Dish name":``), or stands marked within one (``… #Ingredients: …``). It ends with a
colon, with a dash, or with its line. What repeats the form instead of filling it, such as "(what the dish is
called)" or "[Dish name]", is no content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tasks.evaluations.explication.phrases import likeness, plain, questions

_BEFORE = r"(?:[^\w\n]|_){0,12}(?:\d{1,2}[.)](?:[^\w\n]|_){0,8})?(?:<\w{1,6}>)?"
"""Marks, an emoji or a number before a label."""
_INSIDE = r"(?<=[\s.;,!])(?:\#{1,6}|\*{2,3}\#?)[ \t]*"
_ASIDE = r"(?:[*_`\"]*[ \t]*[(\[][^)\]\n]{0,60}[)\]])"
_REST = r"(?:[ \t]+[^\W\d_][^\n:.?!#*]{0,38})"
"""What may follow a marked label before its end: "Ingredients for two", "Why it suits you"."""
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


class Part(NamedTuple):
    """What stands under one label; begin: where the label's line, or its mark, begins in the text."""

    label: str
    begin: int
    content: str


def pattern(labels: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """What finds labels in a text; labels: label -> other names of it."""
    names = sorted(_names(labels), key=len, reverse=True)
    name = "|".join(re.escape(n).replace(r"\ ", r"[ \t_-]*").replace("'", "['’]") for n in names)
    name = rf"(?:(?:the|your)[ \t]+)?(?P<{{}}>(?:{name})s?)(?!\w)"
    return re.compile(
        rf"^(?P<marks>{_BEFORE}){name.format('first')}"
        rf"(?:{_ASIDE}?(?:{_PLAIN_REST}{_COLON}|(?P<dash>{_DASH})|(?P<line>{_LINE}))|(?P<rest>{_REST}{_ASIDE}?)(?:{_COLON}|{_LINE}))"
        rf"|{_INSIDE}{name.format('inside')}{_ASIDE}?(?:{_COLON}|{_DASH})",
        re.IGNORECASE | re.MULTILINE,
    )


def parts(labels: Mapping[str, Sequence[str]], found: re.Pattern[str], text: str) -> list[Part]:
    """The labelled parts of a text in their order; found: ``pattern`` of the labels."""
    names = _names(labels)
    matches = [match for match in found.finditer(text) if _is_label(match)]
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
    """Where the marked heading right before a place begins, and its words; None where there is none."""
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
    asked = questions(content)
    return not asked or plain(" ".join(asked)) != plain(content)


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
