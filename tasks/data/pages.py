"""Sizes of the pages of a Parquet file, as the pages themselves state them.

Readers make room for what a page states. A footer says how much that is in all, and whoever wrote the file
may have written another footer.
"""

from __future__ import annotations

from typing import Any, BinaryIO, NamedTuple

_HEADER = 1 << 14
"""Most bytes of a page's header that are read; it may have statistics, which hold values."""
_DEEPEST = 8
_OF_KIND = (5, 7, 8)
"""Fields of a page's header with its number of values: data, dictionary, data of version 2."""


class Size(NamedTuple):
    """Bytes that pages unpack to, headers included, and their values, those of dictionaries not counted."""

    n_bytes: int
    n_values: int


def size_of(file: BinaryIO, start: int, end: int) -> Size:
    """Return the size of the pages between two places of a file. Raises ValueError for what is no page."""
    n_bytes = n_values = 0
    while start < end:
        file.seek(start)
        header, length = _Struct(file.read(_HEADER)).whole()
        unpacked, packed = header.get(2), header.get(3)
        own: dict[int, Any] = next(
            (header[kind] for kind in _OF_KIND if isinstance(header.get(kind), dict)), {}
        )
        if not isinstance(unpacked, int) or not isinstance(packed, int) or unpacked < 0 or packed < 0:
            raise ValueError("a page of it has no size")
        n_bytes += length + unpacked
        n_values += 0 if 7 in header else int(own.get(1) or 0)
        start += length + packed
    return Size(n_bytes, n_values)


class _Struct:
    """Fields of a struct in the compact protocol of Thrift: number -> value, texts by their length."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def whole(self) -> tuple[dict[int, Any], int]:
        """Return the fields, and the bytes that they take."""
        try:
            return self._struct(0), self.at
        except IndexError:
            raise ValueError("a page of it has no header that ends") from None

    def _struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise ValueError("the header of a page is nested too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._number()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._varint())
            case 9 | 10:
                head = self._byte()
                for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                    self._value(3 if head & 15 < 3 else head & 15, depth + 1)
                return None
            case 12:
                return self._struct(depth + 1)
        raise ValueError("the header of a page has a field of no kind")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _skip(self, n: int) -> int:
        self.at += n
        if self.at > len(self.data):
            raise IndexError
        return n

    def _varint(self) -> int:
        value = shift = 0
        while True:
            part = self._byte()
            value |= (part & 127) << shift
            shift += 7
            if part < 128 or shift > 70:
                return value

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
