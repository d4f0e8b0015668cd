"""Reads published rows from a file or a Hugging Face dataset, and checks them against a schema."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, TypeVar
from zipfile import ZipFile

import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError

from tasks.packs.files import CsvError, csv_records
from tasks.parsing import parse_json

Row = Mapping[str, Any]

DATASET_ID = re.compile(r"[\w.-]+/[\w.-]+")
CONVERTED = "refs/convert/parquet"
"""Branch on which Hugging Face has every dataset that its viewer can show, as Parquet."""


Text = Annotated[str, StringConstraints(min_length=1)]
"""A required text, not empty once stripped."""

Lower = BeforeValidator(lambda cell: cell.strip().casefold() if isinstance(cell, str) else cell)
"""Validator for labels in any case: ``label: Annotated[Literal["yes", "no"], Lower]``."""

_MOST_UNPACKED = 2**30
"""Largest size in bytes of an unpacked spreadsheet, which is unpacked in memory."""
LARGEST = 2**30
"""Largest size of a file in bytes; published files are smaller."""
_MOST_CELLS = 50_000_000
"""Largest number of cells of a Parquet file, which can encode many repetitions of a value in a few bytes."""
_NOT_A_LETTER = re.compile(r"[\W_]+")


class BenchmarkError(ValueError):
    """A benchmark cannot be read; the message names the fault, its place and what to do."""


class PublishedRow(BaseModel):
    """Base of the benchmarks' schemas. Field names are published columns as ``column`` spells them."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", str_strip_whitespace=True, coerce_numbers_to_str=True
    )


P = TypeVar("P", bound=PublishedRow)
T = TypeVar("T")


def read_rows(source: str | Path) -> list[dict[str, Any]]:
    """Return all published rows of a file, or of all splits of a Hugging Face dataset.

    Cells of CSV, TSV and sheets are texts, empty ones None.

    Args:
        source: a path that ends in .json (an array of objects), .jsonl, .csv, .tsv, .parquet or .xlsx (its
            first sheet), or a dataset id such as "owner/name".

    Raises:
        BenchmarkError: the source is missing, unreadable (with line or row), in another format, or without
            rows.
    """
    path = Path(source)
    if path.suffix.casefold() in _READERS:
        rows = _read_file(path)
    elif not path.exists() and DATASET_ID.fullmatch(str(source)):
        rows = [row for file in _download(str(source)) for row in _read_file(file)]
    else:
        raise BenchmarkError(
            f"{source}: neither a file ({', '.join(sorted(_READERS))}) nor a Hugging Face dataset id "
            f"(owner/name): check the path and its ending"
        )
    if not rows:
        raise BenchmarkError(f"{source}: no rows")
    return rows


def validate(source: str, rows: Sequence[Row], model: type[P]) -> tuple[list[P], Counter[str]]:
    """Return the rows that fit the schema, and the number of other rows by reason.

    A reason is ``no_<column>`` (missing or empty) or ``invalid_<column>``, for the first bad cell. Columns
    are matched as spelled by ``column``; further columns are ignored.

    Raises:
        BenchmarkError: no row fits: the columns are not this benchmark's.
    """
    valid: list[P] = []
    dropped: Counter[str] = Counter()
    for row in rows:
        try:
            valid.append(
                model.model_validate({column(k): cell for k, cell in row.items() if not _is_null(cell)})
            )
        except ValidationError as error:
            dropped[_reason(error)] += 1
    if not valid:
        raise BenchmarkError(_no_row_fits(source, rows, model, dropped))
    return valid, dropped


def read_all(paths: Sequence[Path], model: type[P]) -> tuple[list[P], list[str]]:
    """Return the rows of all files that fit the schema, and a line for every reason why others do not.

    Raises:
        BenchmarkError: like ``read_each``.
    """
    notes: list[str] = []
    valid: list[P] = []
    contents = read_each(paths, lambda path: validate(str(path), read_rows(path), model), notes)
    for path, (rows, dropped) in contents.items():
        valid += rows
        notes += [f"{path.name}: {n} rows left out: {reason}" for reason, n in dropped.items()]
    return valid, notes


def read_each(paths: Sequence[Path], read: Callable[[Path], T], notes: list[str]) -> dict[Path, T]:
    """Return file -> content; files that cannot be read are skipped with a note.

    Raises:
        ValueError: no file can be read; it is the error of the first file.
    """
    contents: dict[Path, T] = {}
    faults: list[ValueError] = []
    for path in paths:
        try:
            contents[path] = read(path)
        except ValueError as error:
            faults.append(error)
            notes.append(skipped_note(path, error))
    if faults and not contents:
        raise faults[0]
    return contents


def skipped_note(path: Path, error: ValueError) -> str:
    """Return a line with the name of a skipped file and the reason, without its path."""
    return f"{path.name} is skipped: {str(error).removeprefix(str(path)).lstrip(':, ')}"


def column(name: str) -> str:
    """Return a column in the spelling of the schemas: "Rule-of-Thumb" and "rule of thumb" give
    ``rule_of_thumb``.
    """
    return _NOT_A_LETTER.sub("_", name.strip().casefold()).strip("_")


def _read_file(path: Path) -> list[dict[str, Any]]:
    try:
        return _READERS[path.suffix.casefold()](path)
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{path}: not UTF-8 ({error.reason}): save it in UTF-8") from error


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 if it begins with that byte order mark."""
    content = _content(path)
    is_wide = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return content.decode("utf-16" if is_wide else "utf-8-sig")


def _json(path: Path) -> list[dict[str, Any]]:
    text = _text(path)
    try:
        rows = parse_json(text)
    except json.JSONDecodeError as error:
        raise BenchmarkError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from error
    except ValueError as error:
        raise BenchmarkError(f"{path}: not readable JSON: {error}") from error
    if not isinstance(rows, list):
        raise BenchmarkError(f"{path}: expected an array of objects, found {type(rows).__name__}")
    return [_object(row, f"{path}, row {number}") for number, row in enumerate(rows, 1)]


def _jsonl(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            try:
                rows.append(_object(parse_json(line), f"{path}, line {number}"))
            except ValueError as error:
                fault = getattr(error, "msg", str(error))
                raise BenchmarkError(f"{path}, line {number}: not JSON: {fault}") from error
    return rows


def _object(row: Any, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise BenchmarkError(f"{place}: expected an object, found {type(row).__name__}")
    return row


def _csv(path: Path, delimiter: str = ",") -> list[dict[str, Any]]:
    records = csv_records(_text(path).encode(), delimiter)
    try:
        _, header = next(records, (1, []))
        return [_cells(header, cells, f"{path}, line {line}") for line, cells in records if cells]
    except CsvError as error:
        raise BenchmarkError(f"{path}, line {error.line}: not CSV: {error}") from error


def _cells(header: list[str], cells: list[str], place: str) -> dict[str, Any]:
    if len(cells) != len(header):
        raise BenchmarkError(
            f"{place}: {len(cells)} cells for {len(header)} columns: quote texts that contain the separator"
        )
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}


def read_parquet(path: Path) -> pl.DataFrame:
    """Return the table of a Parquet file; raises BenchmarkError if it is damaged or too large."""
    content = _content(path)
    with reading(path, "Parquet file"):
        scan = pl.scan_parquet(BytesIO(content))
        n_rows, n_columns = scan.select(pl.len()).collect().item(), len(scan.collect_schema())
        if n_rows * n_columns > _MOST_CELLS:
            raise ValueError(f"it has {n_rows:,} rows of {n_columns} columns: split it")
        return pl.read_parquet(content)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn any failure of a reader into an error that names the file; some readers raise BaseExceptions.

    kind: kind of the file, for the error.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise BenchmarkError(f"{path}: not a readable {kind}: {message}") from error


def _xlsx(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the first sheet.

    If a data frame was saved without names, its columns are numbers and its first row names them.
    """
    content = _content(path)
    with reading(path, "spreadsheet"), ZipFile(BytesIO(content)) as book:
        unpacked = sum(entry.file_size for entry in book.infolist())
        if unpacked > _MOST_UNPACKED:
            raise ValueError(f"it unpacks to {unpacked / 2**30:.1f} GiB: save it as CSV")
        if (damaged := book.testzip()) is not None:  # otherwise it may unpack to more than its header states
            raise ValueError(f"{damaged} in it does not match its header: save it again")
        frame = pl.read_excel(content, sheet_id=1, infer_schema_length=0, raise_if_empty=False)
    rows = frame.rows()
    is_numbered = frame.columns == [str(n) for n in range(frame.width)]
    names = [str(name) for name in (rows.pop(0) if is_numbered and rows else frame.columns)]
    return [{n: c or None for n, c in zip(names, cells, strict=True)} for cells in rows if any(cells)]


def _download(dataset: str) -> list[Path]:
    """Return the dataset's Parquet files, from the hub or its local cache."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise BenchmarkError(
            f"{dataset!r} is a dataset of Hugging Face: install its client with pip install "
            "'.[local]' in a checkout, or download its files and give their paths"
        ) from error
    try:
        folder = snapshot_download(
            dataset, repo_type="dataset", revision=CONVERTED, allow_patterns="*.parquet"
        )
    except Exception as error:  # any error of the network and the HTTP library
        raise BenchmarkError(
            f"cannot download {dataset!r} from Hugging Face as Parquet ({type(error).__name__}): check the "
            f"spelling and the network, or download its files and give their paths"
        ) from error
    return sorted(Path(folder).rglob("*.parquet"))


def _is_null(cell: Any) -> bool:
    """Return whether a value is None, or the NaN that data frames write for None."""
    return cell is None or (isinstance(cell, float) and cell != cell)


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    column_name = str(first["loc"][0]) if first["loc"] else "row"
    return f"{'no' if first['type'] in ('missing', 'string_too_short') else 'invalid'}_{column_name}"


def _no_row_fits(
    source: str, rows: Sequence[Row], model: type[PublishedRow], dropped: Mapping[str, int]
) -> str:
    required = [name for name, info in model.model_fields.items() if info.is_required()]
    columns = sorted({str(name) for row in rows for name in row})
    reasons = ", ".join(f"{reason} {n}" for reason, n in dropped.items())
    return (
        f"{source}: none of {len(rows)} rows fits ({reasons}): expected the columns {', '.join(required)}, "
        f"found {', '.join(columns)}. Check that the file is the benchmark's, or rename its columns."
    )


_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".tsv": lambda path: _csv(path, "\t"),
    ".parquet": lambda path: read_parquet(path).to_dicts(),
    ".xlsx": _xlsx,
}


def _content(path: Path) -> bytes:
    """Return a file's bytes; raises BenchmarkError if it is larger than ``LARGEST``."""
    if path.stat().st_size > LARGEST:
        raise BenchmarkError(f"{path}: larger than {LARGEST // 2**20} MiB: split it")
    return path.read_bytes()
