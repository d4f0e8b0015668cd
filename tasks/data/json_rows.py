"""Objects of JSON and JSON Lines files, one at a time: memory does not grow with the file.

The standard parser reads entry by entry from a buffer, because other streaming parsers do not know the NaN
that data frames write, nor say on which line a fault is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tasks.data import text
from tasks.data.errors import TableError
from tasks.data.text import Lines, Source, opened, undecodable
from tasks.parsing import TooDeep, shallow

KEY = "key"
"""Column of an object's key, in a file that is an object of objects."""

_BLANK = " \t\r\n"
_CHUNK = 1 << 18
_NEAR_END = 12
"""A fault in the last letters of a buffer may be an escape or a word that is not yet whole."""

Entry = tuple[str, Any]
"""Place and value."""


def lines(source: Source) -> Iterator[Entry]:
    """Yield the values of JSON Lines. JSON texts may have other characters that count as line ends."""
    numbered = Lines(source, newline="\n")
    for line in numbered:
        numbered.n_in_record = 0
        if line.strip():
            yield f"line {numbered.number}", parsed(line, numbered.number)


def entries(source: Source) -> Iterator[Entry]:
    """Yield the values of a JSON file: of a list, of an object by its keys, or of lines that are objects."""
    if _is_of_lines(source):
        yield from lines(source)
        return
    buffer = _Buffer(source)
    match buffer.sign():
        case "[":
            yield from _listed(buffer)
        case "{":
            yield from _by_key(buffer)
        case "":
            raise TableError("it is empty", "check the file")
        case sign:
            raise TableError(f"not a list or object of rows (it begins with {sign!r})", "check the file")
    if sign := buffer.sign():
        raise buffer.fault(f"not JSON: there is {sign!r} after its end")


def parsed(line: str, number: int) -> Any:
    """Return the value of a JSON text on one line. Raises TableError."""
    try:
        return shallow(_DECODER.decode(line))
    except json.JSONDecodeError as error:
        raise TableError(f"not JSON: {error.msg}", "correct the line", line=number) from error
    except TableError as error:
        raise TableError(error.what, error.advice, line=number) from error
    except RecursionError:
        raise TableError(f"not readable JSON: {TooDeep()}", "nest less", line=number) from None
    except ValueError as error:
        raise TableError(f"not readable JSON: {error}", "correct the line", line=number) from error


def _listed(buffer: _Buffer) -> Iterator[Entry]:
    buffer.skip("[")
    number = 0
    while buffer.sign() != "]":
        if number:
            buffer.skip(",")
        number += 1
        yield f"entry {number}", buffer.value()
    buffer.skip("]")


def _by_key(buffer: _Buffer) -> Iterator[Entry]:
    buffer.skip("{")
    seen = set[str]()
    while buffer.sign() != "}":
        if seen:
            buffer.skip(",")
        key = buffer.value()
        if not isinstance(key, str) or key in seen:
            raise buffer.fault(f"the key {str(key)[:40]!r} is repeated, or is not a text")
        seen.add(key)
        buffer.skip(":")
        row = buffer.value()
        if isinstance(row, dict) and row.get(KEY, key) != key:
            raise buffer.fault(f"the entry {key[:40]!r} has another {KEY!r} of its own")
        yield f"key {key[:60]}", {**row, KEY: key} if isinstance(row, dict) else row
    buffer.skip("}")


class _Buffer:
    """The part of a JSON text that is being read."""

    def __init__(self, source: Source) -> None:
        self._source, self._stream = source, opened(source)
        self._text, self._at, self._line, self._is_whole = "", 0, 1, False

    def sign(self) -> str:
        """Return the next sign that is not blank, without reading over it; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if self._is_whole:
                return ""
            self._more()

    def skip(self, sign: str) -> None:
        """Read over this sign. Raises TableError if another one is next."""
        if (found := self.sign()) != sign:
            raise self.fault(f"not JSON: expected {sign!r}, found {found or 'the end'!r}")
        self._at += 1

    def value(self) -> Any:
        """Return the next value. Raises TableError if it is not JSON, too long or too deep."""
        self.sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if self._is_whole or end < len(self._text):  # a number may go on
                    self._at = end
                    return shallow(value)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _NEAR_END
                if self._is_whole or not is_cut:
                    self._at = min(error.pos, len(self._text))
                    raise self.fault(f"not JSON: {error.msg}") from error
            except RecursionError:
                raise self.fault(f"not readable JSON: {TooDeep()}") from None
            except TableError as error:
                raise self.fault(error.what) from error
            except ValueError as error:
                raise self.fault(f"not readable JSON: {error}") from error
            if len(self._text) - self._at > text.LARGEST_RECORD:
                raise self.fault(f"an entry has more than {text.LARGEST_RECORD:,} characters")
            self._more()

    def fault(self, what: str) -> TableError:
        """Return an error with the line of the next sign."""
        line = self._line + self._text.count("\n", 0, self._at)
        return TableError(what, "correct the file there", line=line)

    def _more(self) -> None:
        """Read on, and forget what was read over. An entry that is not yet whole doubles."""
        self._line += self._text.count("\n", 0, self._at)
        rest = self._text[self._at :]
        try:
            new = self._stream.read(max(_CHUNK, len(rest)))
        except UnicodeDecodeError as error:
            raise undecodable(self._source) from error
        self._text, self._at, self._is_whole = rest + new, 0, not new
        if not new:
            self._stream.close()


def _is_of_lines(source: Source) -> bool:
    """Return whether a JSON file has an object per line; the hub has such files under .json."""
    numbered = Lines(source, newline="\n")
    try:
        first = next((line for line in numbered if line.strip()), "")
        return isinstance(parsed(first, 1), dict) and any(line.strip() for line in numbered)
    except TableError:
        return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises TableError for a repeated key, of which json would keep the last value."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise TableError(f"the key {repeated[:40]!r} is repeated", "remove one")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_once)
