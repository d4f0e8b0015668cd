"""Rows of Parquet files, batch by batch. The footer is read first: a small file may hold any amount.

Texts stay in their dictionaries until a row is made, and rows share them: a text that a million rows repeat
is in memory once.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tasks.data.errors import TableError, reading
from tasks.data.pages import size_of
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
