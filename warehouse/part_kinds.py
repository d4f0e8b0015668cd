"""The kinds of Parquet parts, as the files kinds/<kind>.toml declare them. A new kind is a new file.

    comment = "…"                  # of the view <kind> that shows the rows (warehouse/kind_views.py)
    unit = "item"                  # the column whose values a part answers
    key = ["item", "judged"]       # no two rows of a part share it
    [provenance]                   # run_id, model or request_hash in words of the kind's own; may be left out
    [columns]                      # name = { type, comment }, in file order, and where it applies:
    reason = { type = "VARCHAR", comment = "…", nullable = true }
    graded = { type = "DOUBLE", comment = "…", added = true }           # came later, and so is nullable
    group_name = { type = "VARCHAR", comment = "…", formerly = "origin" }
    [computed]                     # name = { sql, comment }: columns that only the view has; may be left out

A part written before has no column that was added, and one that was renamed under its old name: it is read as
if it had NULL there, and the new name. The columns part, request_hash, run_id and model are in every part.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from warehouse.home import WarehouseError

__all__ = ["EMPTY_PART", "KINDS", "Column", "PartKind", "part_folder", "part_kind", "read_kinds"]

# Begins with an underscore, which no part name may, so that it is never taken for one.
EMPTY_PART = "_empty"

_FOLDER = Path(__file__).resolve().parent / "kinds"
_TYPES: Mapping[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "BOOLEAN": pl.Boolean(),
    "SMALLINT": pl.Int16(),
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "FLOAT": pl.Float32(),
    "DOUBLE": pl.Float64(),
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SECTIONS = {"comment", "unit", "key", "provenance", "columns", "computed"}


@dataclass(frozen=True)
class Column:
    """One column of a kind's parts; without `nullable` it is never empty. formerly: its old name."""

    type: pl.DataType
    comment: str
    nullable: bool = False
    added: bool = False
    formerly: str | None = None


@dataclass(frozen=True)
class PartKind:
    """What the parts of one kind hold; the docstring of the module says what the fields mean.

    declared: all columns in file order. `part`, `request_hash` and `run_id` are constant within a file:
    written as columns rather than as file metadata because SQL can join on them, any Parquet writer keeps
    them, and run-length encoding makes them nearly free. They are what lets a part that a killed run left
    behind be registered. computed: name -> (SQL, comment).
    """

    name: str
    comment: str
    unit: str
    key: tuple[str, ...]
    declared: Mapping[str, Column]
    computed: Mapping[str, tuple[str, str]]

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """Name -> type, in file order."""
        return {name: column.type for name, column in self.declared.items()}

    @property
    def schema(self) -> pl.Schema:
        """The columns as a Polars schema."""
        return pl.Schema(self.columns)

    @property
    def added(self) -> frozenset[str]:
        """The columns that parts written before lack."""
        return frozenset(name for name, column in self.declared.items() if column.added)

    @property
    def nullable(self) -> frozenset[str]:
        """The columns that may be empty."""
        return self.added | {name for name, column in self.declared.items() if column.nullable}

    @property
    def renamed(self) -> dict[str, str]:
        """Old name -> present name."""
        return {column.formerly: name for name, column in self.declared.items() if column.formerly}

    def under_present_names(self, frame: pl.DataFrame) -> pl.DataFrame:
        """`frame` with each column that has an old name, and not the present one as well, renamed."""
        return frame.rename(
            {old: new for old, new in self.renamed.items() if old in frame.columns and new not in frame}
        )


def read_kinds(folder: Path) -> Mapping[str, PartKind]:
    """Kind -> its declaration, of every file in `folder`. Raises WarehouseError naming the wrong file."""
    return MappingProxyType({file.stem: _read_kind(file) for file in sorted(folder.glob("*.toml"))})


def part_kind(kind: str) -> PartKind:
    """The declaration of `kind`. Raises WarehouseError for one that is not declared."""
    if kind not in KINDS:
        raise WarehouseError(
            f"no part kind {kind!r}: expected one of {sorted(KINDS)}. A new one is a file in {_FOLDER}."
        )
    return KINDS[kind]


def part_folder(home: Path, kind: str) -> Path:
    """The folder of a kind's parts. Raises WarehouseError for a kind that is not declared."""
    part_kind(kind)
    return home / "parts" / kind


def _read_kind(file: Path) -> PartKind:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        unknown = sorted(set(content) - _SECTIONS)
        if unknown:
            raise ValueError(f"{unknown} is none of {sorted(_SECTIONS)}")
        columns = {name: _column(name, cells) for name, cells in content["columns"].items()}
        kind = PartKind(
            name=file.stem,
            comment=content["comment"],
            unit=content["unit"],
            key=tuple(content["key"]),
            declared=_provenance(file.stem, content.get("provenance", {})) | columns,
            computed={n: (c["sql"], c["comment"]) for n, c in content.get("computed", {}).items()},
        )
        _check(kind, set(columns))
    except KeyError as error:
        raise WarehouseError(f"{file} does not declare a part kind: it lacks {error}.") from error
    except (ValueError, TypeError) as error:  # TOML and UTF-8 errors are ValueErrors too
        raise WarehouseError(f"{file} does not declare a part kind: {error}.") from error
    return kind


def _provenance(kind: str, comments: Mapping[str, str]) -> dict[str, Column]:
    usual = {
        "part": f"Part that holds the row: parts/{kind}/<part>.parquet.",
        "request_hash": "What was asked: run_request.request_hash.",
        "run_id": "Run: run.run_id.",
        "model": "Model.",
    }
    unknown = sorted(set(comments) - set(usual))
    if unknown:
        raise ValueError(
            f"[provenance] has {unknown}, and none but {sorted(usual)} is a column of every part"
        )
    return {name: Column(pl.String(), comment) for name, comment in (usual | dict(comments)).items()}


def _column(name: str, cells: Mapping[str, Any]) -> Column:
    written = cells["type"]
    inner = written.removesuffix("[]")
    if inner not in _TYPES:
        raise ValueError(
            f"column {name}: no type {written!r}; expected one of {list(_TYPES)}, or a list: FLOAT[]"
        )
    type_ = _TYPES[inner] if inner == written else pl.List(_TYPES[inner])
    return Column(**{**cells, "type": type_})


def _check(kind: PartKind, own: set[str]) -> None:
    """Raise ValueError for names that the view or a part could not have."""
    for name in (kind.name, *own, *kind.computed):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: use small letters, digits and underscores")
    for name in (kind.unit, *kind.key):
        if name not in own:
            raise ValueError(f"{name!r} is not among its columns {sorted(own)}")
    if kind.declared[kind.unit].type != pl.String:
        raise ValueError(f"its unit {kind.unit} is not a VARCHAR")
    taken = sorted({*kind.computed, *kind.renamed} & set(kind.declared))
    if taken:
        raise ValueError(f"{taken} is a column already")


KINDS: Mapping[str, PartKind] = read_kinds(_FOLDER)
