"""Rows of Parquet files, batch by batch. The footer is read first: a small file may hold any amount.

A footer states what its pages unpack to, and whoever wrote the file may have written anything there: so the
pages' own headers are read too. Texts stay in their dictionaries until a row is made, and rows share them: a
text that a million rows repeat is in memory once.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tasks.data.errors import TableError, reading
from tasks.data.text import MOST_BYTES, MOST_CELLS, Source

if TYPE_CHECKING:
    import polars as pl

_MOST_CELLS_OF_FRAME = 1 << 27
_DEEPEST = 20
_LARGEST_CHUNK = 1 << 28
"""Most bytes of a column in a row group, which is read as a whole."""
_MOST_IN_LISTS = 1 << 25
_SLACK = 1 << 16
"""Bytes by which writers count the headers of pages differently."""
_BATCH, _BATCH_BYTES = 1024, 1 << 25


def rows(source: Source, is_whole: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the rows.

    Args:
        is_whole: whether all rows will be in memory, which limits their number.

    Raises:
        TableError: it is larger than it may be. Other errors of the library: it is damaged.
    """
    import pyarrow.parquet as pq

    file = pq.ParquetFile(_opened(source))
    about, leaves = file.metadata, [file.schema.column(n) for n in range(len(file.schema))]
    if any(leaf.path.count(".") > 2 * _DEEPEST for leaf in leaves):
        raise TableError(f"its columns are nested more than {_DEEPEST} deep", "nest less")
    _check(source, about, MOST_CELLS if is_whole else None)
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    n_bytes = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
    n = max(1, min(_BATCH, _BATCH_BYTES * about.num_rows // max(n_bytes, 1)))
    for batch in pq.ParquetFile(_opened(source), read_dictionary=texts).iter_batches(n):
        names = batch.schema.names
        for cells in zip(*map(_values, batch.columns), strict=True):
            yield dict(zip(names, cells, strict=True))


def column_names(source: Source) -> list[str]:
    """Return the names of the columns, repeated ones too."""
    import pyarrow.parquet as pq

    return list(pq.ParquetFile(_opened(source)).schema_arrow.names)


def frame(path: Path) -> pl.DataFrame:
    """Return a whole file as a frame. Raises TableError if it is damaged or too large."""
    import polars as pl
    import pyarrow.parquet as pq

    with reading(path, "Parquet file"):
        _check(path, pq.ParquetFile(path).metadata, _MOST_CELLS_OF_FRAME)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)


def _check(source: Source, about: Any, most_cells: int | None) -> None:
    """Raise TableError if there are more cells or bytes than may be read, by the footer or by the pages.

    most_cells: of the whole file; None if it is streamed, which limits the lists of a row group.
    """
    groups = [about.row_group(n) for n in range(about.num_row_groups)]
    chunks = [(group, group.column(n)) for group in groups for n in range(group.num_columns)]
    n_cells = max(sum(chunk.num_values for _, chunk in chunks), about.num_rows * about.num_columns)
    if most_cells is not None and n_cells > most_cells:
        raise TableError(f"it has {about.num_rows:,} rows and {n_cells:,} cells", "split it")
    in_lists = max((chunk.num_values - group.num_rows for group, chunk in chunks), default=0)
    if most_cells is None and in_lists > _MOST_IN_LISTS:
        raise TableError(f"lists of one row group have {in_lists:,} values", "write smaller row groups")
    n_bytes = sum(chunk.total_uncompressed_size for _, chunk in chunks)
    largest = max((chunk.total_uncompressed_size for _, chunk in chunks), default=0)
    if most_cells is not None and n_bytes > MOST_BYTES:
        raise TableError(f"it unpacks to {n_bytes / 2**30:.1f} GiB", "split it")
    if largest > min(_LARGEST_CHUNK, MOST_BYTES):
        what = f"it unpacks to {largest / 2**30:.1f} GiB in one column of a row group"
        raise TableError(what, "write smaller row groups")
    with open(source, "rb") if isinstance(source, Path) else BytesIO(source) as file:
        for _, chunk in chunks:
            _check_pages(file, chunk)


def _check_pages(file: BinaryIO, chunk: Any) -> None:
    """Raise TableError if a column has more bytes or values than the footer states."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
        start = chunk.dictionary_page_offset
    try:
        size = size_of(file, start, start + chunk.total_compressed_size)
    except ValueError as error:
        raise TableError(f"not a readable Parquet file: {error}", "check the file") from None
    more = size.n_bytes - chunk.total_uncompressed_size
    if more > _SLACK or size.n_values > chunk.num_values:
        what = f"the pages of column {chunk.path_in_schema[:60]!r} hold more than the footer states"
        raise TableError(what, "write the file again")


def _values(array: Any) -> list[Any]:
    """Return an array's values; equal texts of a dictionary are one object."""
    import pyarrow as pa

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _values(array.storage)
    if pa.types.is_dictionary(kind):
        used = array.indices.unique().drop_null()
        words = dict(zip(used.to_pylist(), array.dictionary.take(used).to_pylist(), strict=True))
        return [words.get(index) for index in array.indices.to_pylist()]
    if pa.types.is_struct(kind):
        names, columns = [field.name for field in kind], map(_values, array.flatten())
        cells = zip(*columns, strict=True) if names else ((),) * len(array)
        there = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if is_there else None
                for row, is_there in zip(cells, there, strict=True)]  # fmt: skip
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = iter(_values(array.flatten()))
        lengths = array.value_lengths().to_pylist()
        return [None if n is None else [next(inner) for _ in range(n)] for n in lengths]
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        array = array.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_duration(kind) and kind.unit == "ns":
        array = array.cast(pa.duration("us"), safe=False)
    elif pa.types.is_time64(kind) and kind.unit == "ns":
        array = array.cast(pa.time64("us"), safe=False)
    return list(array.to_pylist())


def _opened(source: Source) -> Any:
    return source if isinstance(source, Path) else BytesIO(source)


_HEADER = 1 << 14
"""Most bytes of a page's header that are read; it may have statistics, which hold values."""
_DEEPEST_FIELD = 8
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
        if depth > _DEEPEST_FIELD:
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
