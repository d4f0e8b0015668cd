"""Finds the JSON objects in a model's text, also in the forms in which models break JSON. Pure.

Read as they are meant: raw line breaks and unescaped quotes in strings, single, curly and full-width marks,
Python literals and tuples, unquoted keys and words, trailing and missing commas, comments. An object that
never ends is not one; its beginning is never completed by a guess.

The work is linear in the text: attempts share a budget, and a text that exceeds it has no objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tasks.parsing import DEEPEST

Pairs = tuple[tuple[str, object], ...]
"""Keys and values in their order, with repeated keys. An object is a tuple of pairs, an array a list."""

LONGEST = 1 << 20
"""Characters of a text; a longer one has no objects."""

_EFFORT = 16
"""Characters that may be looked at for each character of a text."""

_OBJECT, _OBJECT_END = "{｛", "}｝"
_ARRAY, _ARRAY_END = "[［(（", "]］)）"
_DOUBLE, _SINGLE = '"“”„‟＂«', "'‘’‚＇`"
_CLOSERS = dict.fromkeys(_SINGLE, "'’‘＇`") | dict.fromkeys("“”„‟＂", '“”"＂') | {'"': '"', "«": "»"}

_BLANK = r"[\s\u200b\u2060\ufeff]*+"
_BLANKS = re.compile(r"(?:[\s\u200b\u2060\ufeff]++|(?://|\#)[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_COLON = re.compile(r"[:：]")
_COMMA = re.compile(r"[,，]")
_NOTE = r"(?:(?:(?://|\#)[^\n]*\n|/\*[^*]*\*/)\s*+)?"
_QUOTED_KEY = (
    r"(?:\"(?:[^\n\"\\]|\\.){1,80}+\""
    r"|[“”„‟＂«][^\n“”\"＂«»]{1,80}+[“”\"＂»]"
    rf"|[{_SINGLE}][^\n\"]{{1,80}}?[{_SINGLE}]){_BLANK}[:：]"
)
_CUT_KEY = (
    rf"(?:[{_DOUBLE}{_SINGLE}](?:[^\n{_DOUBLE}\\]|\\.){{0,80}}+[{_DOUBLE}]?|[\w $-]{{0,40}}+){_BLANK}\Z"
)
_BARE_KEY = rf"[\w$-]{{1,40}}+{_BLANK}[:：]"
_FOLLOWS_KEY = re.compile(rf"{_BLANK}[:：]")
_FOLLOWS_ELEMENT = re.compile(
    rf"{_BLANK}(?:[\]］)）]|[,，]{_BLANK}(?:[\]］)）{_DOUBLE}{_SINGLE}{{\[(\d-]|true|false|null|None))", re.I
)
_WORD = re.compile(rf"(?:[^,，{{}}｛｝\[\]［］()（）\n{_DOUBLE}]|\([^()\n{_DOUBLE}]{{0,80}}\)){{1,300}}+")
_KEY_WORD = re.compile(r"[\w$-]{1,40}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_AFTER_PART = re.compile(r"[:：,，\[(]\s*\Z")

_START = re.compile(rf"[{_OBJECT}]{_BLANK}[{_DOUBLE}{_SINGLE}{_OBJECT_END}\w$/\#-]")
_STRICT_START = re.compile(r"\{\s*[\"}]")
_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=tuple)


def _follows_value(key: str) -> re.Pattern[str]:
    """Return what follows a string in an object: its end, or a comma or new line before the next key, which
    may be cut off.
    """
    end = rf"[{_OBJECT_END}](?!{_BLANK}[\"“”])"
    following = rf"(?:[{_OBJECT_END}]|{key}|{_CUT_KEY})"
    return re.compile(rf"{_BLANK}(?:{end}|[,，]{_BLANK}{_NOTE}{following})|[^\S\n]*+\n{_BLANK}{key}")


_FOLLOWS_VALUE = {True: _follows_value(_QUOTED_KEY), False: _follows_value(rf"(?:{_QUOTED_KEY}|{_BARE_KEY})")}


@dataclass(frozen=True)
class FoundObject:
    """One complete object of a text.

    Attributes:
        start, end: where it stands; ``text[start:end]`` is the object.
        is_exact: whether it is JSON as it stands. Quotes within a string of another one could be read in two
            ways.
    """

    pairs: Pairs
    start: int
    end: int
    is_exact: bool


def objects(text: str) -> tuple[FoundObject, ...]:
    """Return the complete outermost objects of a text, in order; those within strings are not objects.

    Parts of an object that never ends are not objects of their own.
    """
    return _search(text)[0]


def begun(text: str) -> Pairs:
    """Return the complete members of the first object that never ends; () without one."""
    return _search(text)[1]


def _search(text: str) -> tuple[tuple[FoundObject, ...], Pairs]:
    """Return the complete objects, and the complete members of the first object that does not end."""
    if len(text) > LONGEST:
        return (), ()
    reader = _Reader(text)
    found: list[FoundObject] = []
    cut: Pairs | None = None
    for start in reader.starts():
        if cut is not None and _AFTER_PART.search(text, max(0, start - 40), start):
            continue
        try:
            pairs, end, is_exact = reader.attempt(start)
        except _UnfinishedObjectError as error:
            cut = error.pairs if cut is None else cut
        except _BrokenObjectError:
            continue
        except _TooMuchError:
            return (), ()
        else:
            found.append(FoundObject(pairs, start, end, is_exact))
            reader.at = end
    return tuple(found), cut or ()


def members(value: object) -> Iterator[Pairs]:
    """Yield the objects within a value of ``Pairs``, outer ones first."""
    if isinstance(value, tuple):
        yield value
    parts = value if isinstance(value, list) else [v for _, v in value] if isinstance(value, tuple) else []
    for part in parts:
        yield from members(part)


def plain_value(value: object) -> object:
    """Return a value with objects as dictionaries, in which the last of repeated keys counts."""
    if isinstance(value, tuple):
        return {key: plain_value(each) for key, each in value}
    if isinstance(value, list):
        return [plain_value(each) for each in value]
    return _whole(value) if isinstance(value, str) else value


def _whole(value: str) -> str:
    """Return a text with "?" for each half of a surrogate pair, which neither files nor engines accept."""
    return value.encode(errors="replace").decode()


class _BrokenObjectError(Exception):
    """Raised where no object begins."""


class _UnfinishedObjectError(Exception):
    """Raised if the text ends within the object."""

    def __init__(self, pairs: Pairs = ()) -> None:
        super().__init__()
        self.pairs = pairs


class _TooMuchError(Exception):
    """Raised when the budget is used up."""


class _Reader:
    """Reads objects of one text.

    Attributes:
        at: where the search goes on.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._left = 10_000 + _EFFORT * len(text)

    def starts(self) -> Iterator[int]:
        """Yield where an object may begin."""
        while match := _START.search(self.text, self.at):
            self.at = match.start() + 1
            yield match.start()

    def attempt(self, start: int) -> tuple[Pairs, int, bool]:
        """Return the object at a brace, its end, and whether it is exact JSON."""
        if _STRICT_START.match(self.text, start):
            try:
                pairs, end = _STRICT.raw_decode(self.text, start)
            except json.JSONDecodeError as error:  # which counts all lines before it
                self._spend(error.pos - start + start // 64)
            except (ValueError, RecursionError):  # a huge number, or nested too deep
                self._spend(len(self.text) - start)
            else:
                self._spend(end - start)
                if _depth_fits(pairs):
                    return pairs, end, True
                raise _BrokenObjectError
        pairs, end = self._object(start, 1)
        return pairs, end, False

    def _spend(self, n: int) -> None:
        self._left -= n + 1
        if self._left < 0:
            raise _TooMuchError

    def _blank(self, at: int) -> int:
        """Return where blanks and comments end."""
        match = _BLANKS.match(self.text, at)
        end = match.end() if match else at
        self._spend(end - at)
        return end

    def _mark(self, at: int) -> str:
        """Return the character at a place."""
        if at >= len(self.text):
            raise _UnfinishedObjectError
        return self.text[at]

    def _object(self, at: int, depth: int) -> tuple[Pairs, int]:
        if depth > DEEPEST:
            raise _BrokenObjectError
        self._spend(20)
        pairs: list[tuple[str, object]] = []
        has_quotes = True
        try:
            at = self._blank(at + 1)
            while self._mark(at) not in _OBJECT_END:
                key, at, has_quotes = self._key(at)
                at = self._blank(self._expect(_COLON, self._blank(at)))
                value, at = self._value(at, depth, _FOLLOWS_VALUE[has_quotes])
                end = self._blank(at)
                mark = self._mark(end)
                pairs.append((key, value))
                if _COMMA.match(mark):
                    at = self._blank(end + 1)
                elif mark in _OBJECT_END or "\n" in self.text[at:end]:
                    at = end
                else:
                    raise _BrokenObjectError
        except _UnfinishedObjectError as error:
            raise _UnfinishedObjectError(tuple(pairs)) from error
        return tuple(pairs), at + 1

    def _array(self, at: int, depth: int) -> tuple[list[object], int]:
        if depth > DEEPEST:
            raise _BrokenObjectError
        self._spend(20)
        values: list[object] = []
        at = self._blank(at + 1)
        while self._mark(at) not in _ARRAY_END:
            value, at = self._value(at, depth, _FOLLOWS_ELEMENT)
            values.append(value)
            at = self._blank(at)
            mark = self._mark(at)
            if _COMMA.match(mark):
                at = self._blank(at + 1)
            elif mark not in _ARRAY_END:
                raise _BrokenObjectError
        return values, at + 1

    def _expect(self, what: re.Pattern[str], at: int) -> int:
        self._mark(at)
        match = what.match(self.text, at)
        if match is None:
            raise _BrokenObjectError
        return match.end()

    def _key(self, at: int) -> tuple[str, int, bool]:
        """Return a key, its end, and whether it stands in quotes."""
        if self._mark(at) in _CLOSERS:
            return *self._string(at, _FOLLOWS_KEY), True
        end = self._expect(_KEY_WORD, at)
        return self.text[at:end], end, False

    def _value(self, at: int, depth: int, follows: re.Pattern[str]) -> tuple[object, int]:
        mark = self._mark(at)
        if mark in _OBJECT:
            return self._object(at, depth + 1)
        if mark in _ARRAY:
            return self._array(at, depth + 1)
        if mark in _CLOSERS:
            return self._string(at, follows)
        end = self._expect(_WORD, at)
        self._spend(end - at)
        if end == len(self.text):
            raise _UnfinishedObjectError
        return _constant(re.split(r"\s(?://|#)", self.text[at:end])[0].strip()), end

    def _string(self, at: int, follows: re.Pattern[str]) -> tuple[str, int]:
        """Return a quoted text and its end: the first quote that ends it and has a mark of JSON after it.

        A text with quotes within may hold braces only in pairs, since other ones would belong to an object
        around it.
        """
        closers = _CLOSERS[self.text[at]]
        marks = re.compile(rf"\\.|[{closers}{{}}]", re.DOTALL)
        has_inner, balance = False, 0
        for match in marks.finditer(self.text, at + 1):
            mark = match[0]
            if mark in "{}":
                balance += 1 if mark == "{" else -1
            elif mark in closers:
                self._spend(80)
                if not (has_inner and balance) and follows.match(self.text, match.end()):
                    self._spend(match.end() - at)
                    return _unescaped(self.text[at + 1 : match.start()]), match.end()
                has_inner = True
        self._spend(len(self.text) - at)
        raise _UnfinishedObjectError


def _unescaped(text: str) -> str:
    """Return a string's text; an escape that JSON lacks stands for its character."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _constant(word: str) -> object:
    """Return what a word without quotes stands for."""
    if _NUMBER.fullmatch(word):
        return float(word) if re.search(r"[.eE]", word) else int(word)
    return _CONSTANTS.get(word.casefold(), word)


def _depth_fits(value: object) -> bool:
    """Return whether a value is nested no deeper than ``DEEPEST``."""
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        level = [each for each in level if isinstance(each, tuple | list)]
        if not level:
            return True
        level = [v for each in level for v in (each if isinstance(each, list) else (v for _, v in each))]
    return False
