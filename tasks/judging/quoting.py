"""Quotes texts of others in prompts, so that they cannot pose as anything but data. Pure.

A text becomes a JSON string on one line, a list a JSON array of such strings, between ``<data>`` and
``</data>``. Angle and square brackets within a text, and the ``&`` of ``&lt;``, are written as JSON escapes.
So a text can hold neither the closing delimiter, nor a special token of a chat template (``<|im_start|>``,
``[INST]``), nor a line break with a heading after it. Nothing is lost: the escapes decode to the text.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

OPEN, CLOSE = "<data>", "</data>"

_to_json = json.JSONEncoder(ensure_ascii=False).encode

_BRACKETS = frozenset("<>[]")

# Characters that look like angle brackets; compatibility forms of brackets are found by NFKC instead.
_ANGLE_LOOK_ALIKES = frozenset("‹›˂˃ᐸᐳ〈〉⟨⟩〈〉❬❭❮❯❰❱")

# ``_escaped`` decides about these characters; letters, digits and other printable ASCII stay unchanged.
_MARK = re.compile(rf"[^\w -~]|[<>\[\]{''.join(_ANGLE_LOOK_ALIKES)}]")

# The "&" of "&lt;", which an HTML parser reads as "<".
_ENTITY = re.compile(r"&(?=#|\w+;)")

_DATA = re.compile(rf"{OPEN}(.*?){CLOSE}", re.DOTALL)
_ESCAPE = re.compile(r"\\+u\{?([0-9a-fA-F]{2,4})")
_NO_LETTER = re.compile(r"[\W\d_]+")

# Control, format (invisible), surrogate and private characters, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

# Zero-width (non-)joiner: invisible too, but part of the spelling of Persian and many Indian languages.
_JOINERS = frozenset("\u200c\u200d")


class Data(str):
    """Delimited data that is false in a template's condition if there is none."""

    is_any: bool

    def __new__(cls, text: str, value: object) -> Data:
        self = super().__new__(cls, text)
        self.is_any = bool(value)
        return self

    def __bool__(self) -> bool:
        return self.is_any


def as_data(value: object, max_chars: int) -> str:
    """Return one input of a prompt as delimited data: ``<data>"poutine"</data>``.

    Several texts are an array: ``<data>["salt", "water"]</data>``. Each is first cut to ``max_chars``
    (``shorten``).

    Raises:
        TypeError: neither a text nor a sequence of texts.
    """
    if isinstance(value, str):
        return f"{OPEN}{_quote(value, max_chars)}{CLOSE}"
    if not isinstance(value, Sequence) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"an input is a text or a sequence of texts, got {value!r}")
    return f"{OPEN}[{', '.join(_quote(text, max_chars) for text in value)}]{CLOSE}"


def shorten(text: str, max_chars: int) -> str:
    """Return the text, cut to ``max_chars - 1`` characters and "…" if it is longer. Idempotent."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def may_hold_verdict(question: str) -> bool:
    """Return whether data quoted in a question has a brace or the word "verdict", in any disguise.

    Without them no object in a judge's text, and no line ``Verdict: good``, can be a copy of the data.
    """
    return any(
        "{" in (plain := _undisguised(data)) or "verdict" in _NO_LETTER.sub("", plain)
        for data in _DATA.findall(question)
    )


def _undisguised(data: str) -> str:
    """Return quoted data with its escapes and entities decoded, in compatibility form, without case."""
    decoded = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), data)
    return unicodedata.normalize("NFKC", html.unescape(decoded)).casefold()


def _quote(text: str, max_chars: int) -> str:
    """Return a JSON string of the text on one line, without brackets."""
    quoted = _MARK.sub(lambda mark: _escaped(mark[0]), _to_json(shorten(text, max_chars)))
    return _ENTITY.sub(r"\\u0026", quoted)


@lru_cache(maxsize=1 << 14)
def _escaped(character: str) -> str:
    """Return the character, or its JSON escape if it could pose as more than text."""
    unseen = unicodedata.category(character) in _UNSEEN and character not in _JOINERS
    bracket = not _BRACKETS.isdisjoint(unicodedata.normalize("NFKC", character))
    if not (unseen or bracket or character in _ANGLE_LOOK_ALIKES):
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
