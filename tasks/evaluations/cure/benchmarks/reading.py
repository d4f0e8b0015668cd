"""Read a benchmark's rows as they were published: a local file, or a dataset on Hugging Face."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

Row = Mapping[str, Any]

DATASET_ID = re.compile(r"[\w.-]+/[\w.-]+")
CONVERTED = "refs/convert/parquet"
"""The branch on which Hugging Face keeps every dataset that its viewer can show, as Parquet."""


class BenchmarkError(ValueError):
    """A benchmark cannot be read; the message says what is wrong, where, and what to do."""


def read_rows(source: str | Path) -> list[dict[str, Any]]:
    """All rows of a file, or of all splits of a Hugging Face dataset, as published.

    source: a path that ends in .json (an array of objects), .jsonl, .csv, .tsv or .parquet, or a dataset id
    such as "owner/name". Cells of CSV and TSV are texts, empty ones None.

    Raises:
        BenchmarkError: not there, not readable (with line or row), another format, or without rows.
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
        raise BenchmarkError(f"{source}: there are no rows in it")
    return rows


def _read_file(path: Path) -> list[dict[str, Any]]:
    try:
        return _READERS[path.suffix.casefold()](path)
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{path}: not UTF-8 ({error.reason}): save it in UTF-8") from error


def _json(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise BenchmarkError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(rows, list):
        raise BenchmarkError(f"{path}: expected an array of objects, found {type(rows).__name__}")
    return [_object(row, f"{path}, row {number}") for number, row in enumerate(rows, 1)]


def _jsonl(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if line.strip():
            try:
                rows.append(_object(json.loads(line), f"{path}, line {number}"))
            except json.JSONDecodeError as error:
                raise BenchmarkError(f"{path}, line {number}: not JSON: {error.msg}") from error
    return rows


def _object(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise BenchmarkError(f"{where}: expected an object, found {type(row).__name__}")
    return row


def _csv(path: Path, delimiter: str = ",") -> list[dict[str, Any]]:
    # The standard reader, because polars does not say which line is broken.
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            return [_cells(header, cells, f"{path}, line {reader.line_num}") for cells in reader if cells]
        except csv.Error as error:
            raise BenchmarkError(f"{path}, line {reader.line_num}: not CSV: {error}") from error


def _tsv(path: Path) -> list[dict[str, Any]]:
    return _csv(path, delimiter="\t")


def _cells(header: list[str], cells: list[str], where: str) -> dict[str, Any]:
    if len(cells) != len(header):
        raise BenchmarkError(
            f"{where}: {len(cells)} cells under {len(header)} columns: quote texts that hold the separator"
        )
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        return pl.read_parquet(path.read_bytes()).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise BenchmarkError(f"{path}: not a readable Parquet file: {error}") from error


def _download(dataset: str) -> list[Path]:
    """The dataset's Parquet files, from the hub or its local cache."""
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            dataset, repo_type="dataset", revision=CONVERTED, allow_patterns="*.parquet"
        )
    except Exception as error:  # whatever the network and the HTTP library may raise
        raise BenchmarkError(
            f"Hugging Face gives no dataset {dataset!r} as Parquet ({type(error).__name__}): check the "
            f"spelling and the network, or download its files and give their paths"
        ) from error
    return sorted(Path(folder).rglob("*.parquet"))


_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
}
