"""Text of files: encodings, and lines that are read one by one with their numbers.

A file is in UTF-8 with or without a mark, or in UTF-16 with one. Other encodings are refused with the line:
a text that is read in a wrong encoding is a wrong text, and nobody would see it.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tasks.data.errors import TableError, reading

Source = Path | bytes
"""A file, or its content."""

MOST_BYTES = 1 << 30
"""Most bytes of a file that is read whole, packed or unpacked."""
MOST_CELLS = 10_000_000
"""Most cells of a table that is read whole, nested values counted."""
LARGEST_RECORD = 1 << 24
"""Most characters of one record: a line, an entry, or a row over several lines."""
_CHUNK = 1 << 16


def text(path: Path, largest: int = 1 << 28) -> str:
    """Return the text of a whole file, with its line ends as they are.

    Raises:
        TableError: it cannot be read, is in another encoding, or has more than ``largest`` bytes.
    """
    with reading(path):
        if path.stat().st_size > largest:
            raise TableError(f"larger than {largest >> 20} MiB", "split it")
        with opened(path) as stream:
            try:
                return stream.read()
            except UnicodeDecodeError as error:
                raise undecodable(path) from error


def opened(source: Source, newline: str = "") -> IO[str]:
    """Return a stream of a file's text without its mark; see ``open`` for newline."""
    raw = _binary(source)
    start = raw.read(4)
    raw.seek(0)
    if b"\0" in start and not _is_wide(start):
        raise TableError("it has NUL bytes, as UTF-16 without its mark has", "save it in UTF-8", line=1)
    encoding = "utf-16" if _is_wide(start) else "utf-8-sig"
    return io.TextIOWrapper(raw, encoding, newline=newline)


def undecodable(source: Source) -> TableError:
    """Return the error of a file that is not in its encoding, with the line of the first wrong byte."""
    with _binary(source) as raw:
        is_wide = _is_wide(raw.read(2))
        raw.seek(0)
        name = "UTF-16" if is_wide else "UTF-8"
        decoder, line = codecs.getincrementaldecoder(name)(), 1
        while chunk := raw.read(_CHUNK):
            try:
                line += decoder.decode(chunk).count("\n")
            except UnicodeDecodeError as error:
                line += error.object[: error.start].decode(name).count("\n")
                return TableError(f"it is not {name} ({error.reason})", "save it in UTF-8", line=line)
    return TableError(f"it is not {name} (it ends within a letter)", "save it in UTF-8", line=line)


class Lines:
    """The lines of a text, with their ends. Iterating raises TableError for a NUL or an endless record.

    Attributes:
        number: of the last line. n_in_record: characters since the reader last set it to 0.
    """

    def __init__(self, source: Source | IO[str], newline: str = "") -> None:
        self.number = self.n_in_record = 0
        self._source = source
        self._stream = opened(source, newline) if isinstance(source, Path | bytes) else source

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._stream.closed:
            raise StopIteration
        try:
            line = self._stream.readline(LARGEST_RECORD + 1)
        except UnicodeDecodeError as error:
            if not isinstance(self._source, Path | bytes):
                raise
            raise undecodable(self._source) from error
        if not line:
            self._stream.close()
            raise StopIteration
        self.number += 1
        self.n_in_record += len(line)
        if self.n_in_record > LARGEST_RECORD:
            what = f"a record has more than {LARGEST_RECORD:,} characters"
            raise TableError(what, "check the quotes", line=self.number)
        if "\0" in line:
            raise TableError("it has a NUL character", "save it again as text in UTF-8", line=self.number)
        return line


def _binary(source: Source) -> io.BufferedReader:
    return source.open("rb") if isinstance(source, Path) else io.BufferedReader(io.BytesIO(source))


def _is_wide(start: bytes) -> bool:
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
