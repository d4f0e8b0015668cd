"""Reads published rows from a file or a data set of the hub, and checks them against a schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError

from tasks.data import ENDINGS, TableError, hub, table
from tasks.data.errors import reading
from tasks.data.folders import files_in
from tasks.data.reading import objects

Row = Mapping[str, Any]

Text = Annotated[str, StringConstraints(min_length=1)]
"""A required text, not empty once stripped."""

Lower = BeforeValidator(lambda cell: cell.strip().casefold() if isinstance(cell, str) else cell)
"""Validator for labels in any case: ``label: Annotated[Literal["yes", "no"], Lower]``."""

_NOT_A_LETTER = re.compile(r"[\W_]+")


class PublishedRow(BaseModel):
    """Base of the benchmarks' schemas. Field names are published columns as ``column`` spells them."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", str_strip_whitespace=True, coerce_numbers_to_str=True
    )


P = TypeVar("P", bound=PublishedRow)
T = TypeVar("T")


def read_rows(source: str | Path) -> list[dict[str, Any]]:
    """Return all published rows of a file, or of all files of a data set of the hub.

    Cells of CSV, TSV and sheets are texts, empty ones None.

    Args:
        source: a path (``data.ENDINGS``), ``hf:OWNER/NAME@COMMIT``, or another name of a data set.

    Raises:
        TableError: the source is missing, unreadable (with line or row), in another format, or without
            rows.
    """
    if hub.is_named(str(source)):
        paths = files_in(hub.folder(str(source)), ENDINGS)
    elif Path(source).suffix.casefold() in ENDINGS:
        paths = [Path(source)]
    else:
        raise TableError(
            f"neither a file ({', '.join(ENDINGS)}) nor a data set (hf:OWNER/NAME@COMMIT)",
            "check the path and its ending", file=str(source),
        )  # fmt: skip
    rows = [dict(row.cells) for path in paths for row in table(path)]
    if not rows:
        raise TableError("no tables", "check the data set", file=str(source))
    return rows


def validate(source: str, rows: Sequence[Row], model: type[P]) -> tuple[list[P], Counter[str]]:
    """Return the rows that fit the schema, and the number of other rows by reason.

    A reason is ``no_<column>`` (missing or empty) or ``invalid_<column>``, for the first bad cell. Columns
    are matched as spelled by ``column``; further columns are ignored.

    Raises:
        TableError: no row fits: the columns are not this benchmark's; or two columns are spelled alike.
    """
    valid: list[P] = []
    dropped: Counter[str] = Counter()
    with reading(source):
        spelled = list(objects(((f"row {n}", row) for n, row in enumerate(rows, 1)), column))
    for row in spelled:
        try:
            valid.append(
                model.model_validate({name: cell for name, cell in row.cells.items() if not _is_null(cell)})
            )
        except ValidationError as error:
            dropped[_reason(error)] += 1
    if not valid:
        raise TableError(_no_row_fits(source, rows, model, dropped))
    return valid, dropped


def read_all(paths: Sequence[Path], model: type[P]) -> tuple[list[P], list[str]]:
    """Return the rows of all files that fit the schema, and a line for every reason why others do not.

    Raises:
        TableError: like ``read_each``.
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
