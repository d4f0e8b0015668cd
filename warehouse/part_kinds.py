"""The kinds of Parquet parts, declared in kinds/<evaluation>.toml, and the views that show them.

    [proverb]                      # name of the kind
    comment = "…"                  # comment of the view <kind>, which shows the rows
    unit = "item"                  # column whose values a part answers
    key = ["item", "judged"]       # columns that identify a row of a part within one request
    moved = true                   # optional: rows of many runs, moved here from the database file
    [proverb.provenance]           # optional: other comments for run_id, model or request_hash
    [proverb.columns]              # name = { type, comment }, in file order, with these options:
    reason = { type = "VARCHAR", comment = "…", nullable = true }
    graded = { type = "DOUBLE", comment = "…", added = true }           # newer than some parts, so nullable
    [proverb.computed]             # optional: name = { sql, comment }: columns that only the view has

Parts written earlier lack the columns that were added since and are read as if these were NULL. Every part
has the columns part, request_hash, run_id and model. Kinds that evaluations share are in kinds/shared.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import polars as pl

from warehouse.storage import WarehouseError, glob_escaped, written_whole

# No part name may begin with an underscore, so this is never taken for one.
EMPTY_PART = "_empty"

_FOLDER = Path(__file__).resolve().parent / "kinds"
_TYPES: Mapping[str, str] = {
    "VARCHAR": "String",
    "BOOLEAN": "Boolean",
    "SMALLINT": "Int16",
    "INTEGER": "Int32",
    "BIGINT": "Int64",
    "FLOAT": "Float32",
    "DOUBLE": "Float64",
}
"""Types of a column, or of the elements of a list: declared name -> name in polars."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Pattern of a part's name before its hash. With its suffixes it stays within a file name's 255 bytes."""
_PART = re.compile(rf"(?:{_STEM.pattern})-([0-9a-f]{{32}})")
_SECTIONS = {"comment", "unit", "key", "moved", "provenance", "columns", "computed"}

_VIEW = (_FOLDER / "view.sql").read_text(encoding="utf-8")
_COUNT = """SELECT '{kind}' AS kind, request_hash, "{unit}" AS unit, part, count(*) AS n_rows
FROM "{kind}"
GROUP BY ALL"""
_SCHEMAS = """
SELECT file_name, name, num_children, duckdb_type FROM parquet_schema([{files}]) WHERE column_id > 0
"""
_COUNTS = (_FOLDER / "unit_rows.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class PartColumn:
    """One column of a kind's parts; unless it is nullable it has no empty values.

    sql_type: type as declared.
    """

    sql_type: str
    comment: str
    nullable: bool = False
    added: bool = False

    @property
    def type(self) -> pl.DataType:
        """Type of the column in a frame."""
        return as_type(self.sql_type)


@dataclass(frozen=True)
class PartKind:
    """The declaration of one kind of parts; the docstring of the module explains the fields.

    declared: all columns in file order. `part` (without its hash), `request_hash` and `run_id` are columns
    rather than file metadata because SQL can join on them, any Parquet writer keeps them, and run-length
    encoding makes them nearly free. They make it possible to register a part that a killed run left behind.
    computed: name -> (SQL, comment). moved: an unregistered part answers nothing, because the database file
    still has its rows.
    """

    name: str
    comment: str
    unit: str
    key: tuple[str, ...]
    declared: Mapping[str, PartColumn]
    computed: Mapping[str, tuple[str, str]]
    moved: bool = False

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """Name -> type, in file order."""
        return {name: column.type for name, column in self.declared.items()}

    @property
    def stored_columns(self) -> list[tuple[str, str]]:
        """(name, declared type) of the columns of the part without rows."""
        return [(name, column.sql_type) for name, column in self.declared.items()]

    @property
    def added(self) -> frozenset[str]:
        """Columns that parts written earlier lack."""
        return frozenset(name for name, column in self.declared.items() if column.added)

    @property
    def nullable(self) -> frozenset[str]:
        """Columns that may have empty values."""
        return self.added | {name for name, column in self.declared.items() if column.nullable}


def as_type(sql_type: str) -> pl.DataType:
    """Return the polars type of a declared type such as FLOAT[]."""
    inner: pl.DataType = getattr(pl, _TYPES[sql_type.removesuffix("[]")])()
    return pl.List(inner) if sql_type.endswith("[]") else inner


def kind_view(kind: PartKind) -> str:
    """Return the SQL that makes the view of a kind and its comments; `{parts}` stands for the parts' folder.

    The columns are run_id, model, the kind's own, the computed ones, request_hash and part.
    """
    own_columns = [name for name in kind.declared if name not in ("part", "request_hash", "run_id", "model")]
    columns = ["p.run_id", "coalesce(n.model, p.model) AS model", *(f'p."{name}"' for name in own_columns)]
    columns += [f'{sql} AS "{name}"' for name, (sql, _) in kind.computed.items()]
    view = _VIEW.format(
        kind=kind.name,
        unit=kind.unit,
        columns=", ".join([*columns, "p.request_hash", "p.part"]),
        # Only for kinds whose columns changed, because it reads the footers of all files first.
        united=", union_by_name = true" if kind.added else "",
    )
    comments = {name: column.comment for name, column in kind.declared.items()}
    return view + _comments(kind.name, kind.comment, comments | {n: c for n, (_, c) in kind.computed.items()})


def unit_rows_view(kinds: Iterable[PartKind]) -> str:
    """Return the SQL that makes the view `unit_rows`, which counts the rows in the views of `kinds`."""
    counts = (_COUNT.format(kind=kind.name, unit=kind.unit) for kind in kinds)
    return _COUNTS.replace("{counts}", "\nUNION ALL\n".join(counts))


def part_path(home: Path, kind: str, name: str) -> Path:
    """Return the path of a part in a home folder, whether it exists or not.

    Raises WarehouseError for an unknown kind, and for a name that is not a part's. Names come from databases
    that somebody else may have written, so a name must not lead out of the folder.
    """
    if name != EMPTY_PART and not is_part_name(name):
        raise WarehouseError(
            f"{name[:200]!r} is not a valid part name: check who wrote this warehouse before you trust it."
        )
    return home / "parts" / part_kind(kind).name / f"{name}.parquet"


def is_part_name(name: str) -> bool:
    """Return whether a part may have this name, which ends in a hash; others never become part of a path."""
    return _PART.fullmatch(name) is not None


def is_part_stem(name: str) -> bool:
    """Return whether a part's name may begin with this, before a hyphen and the hash of its content."""
    return _STEM.fullmatch(name) is not None


def is_as_written(name: str, content: bytes) -> bool:
    """Return whether a part's content matches the hash in its name."""
    return _matches_hash(name, sha256(content).hexdigest())


def is_file_as_written(path: Path) -> bool:
    """Return whether a file's content matches the hash in its name; the file is read in pieces."""
    with path.open("rb", buffering=0) as file:
        return _matches_hash(path.stem, file_digest(file, "sha256").hexdigest())


def _matches_hash(name: str, digest: str) -> bool:
    expected = _PART.fullmatch(name)
    return expected is not None and digest[:32] == expected[1]


def empty_part(home: Path, kind: PartKind) -> Path:
    """Return the path of a kind's part without rows, which gives views a file with every column."""
    return _empty_part(home, kind.name)


@lru_cache(1024)
def _empty_part(home: Path, kind: str) -> Path:
    return home / "parts" / kind / f"{EMPTY_PART}.parquet"  # every query names those of all kinds


def globs_of(home: Path, kind: PartKind, parts: Iterable[Path]) -> list[str]:
    """Return the globs that a view of a kind reads: these parts and the one without rows.

    The part without rows comes first, because the view has the columns of the first file. DuckDB also
    estimates the size of all files by the first, so for a kind whose parts all have the same columns the part
    without rows comes last.
    """
    empty, files = [empty_part(home, kind)], list(parts)
    return [glob_escaped(file) for file in (files + empty if kind.moved else empty + files)]


def create_empty_parts(home: Path) -> None:
    """Write the parts without rows that are missing, damaged or have other columns than `stored_columns`."""
    for kind in KINDS.values():
        target = empty_part(home, kind)
        schema = pl.Schema({name: as_type(sql_type) for name, sql_type in kind.stored_columns})
        if _has_schema(target, schema):
            continue
        with written_whole(target, needed=0) as temporary:
            pl.DataFrame(schema=schema).write_parquet(temporary)


def has_empty_parts(connection: duckdb.DuckDBPyConnection, home: Path) -> bool:
    """Return whether `create_empty_parts` would write nothing; the check needs no polars."""
    files = {str(empty_part(home, kind)): kind for kind in KINDS.values()}
    listed = ", ".join("'{}'".format(glob_escaped(file).replace("'", "''")) for file in files)
    try:
        rows = connection.execute(_SCHEMAS.format(files=listed)).fetchall()
    except duckdb.Error:  # a file is missing or damaged
        return False
    columns: dict[str, list[tuple[str, str]]] = {}
    nodes = iter(rows)
    for file, name, n_children, leaf in nodes:
        if n_children:  # a list: the next row is a group within it, the one after it the elements
            _, (_, _, _, element) = next(nodes), next(nodes)
            leaf = f"{element}[]"
        columns.setdefault(file, []).append((name, leaf))
    return all(columns.get(file) == kind.stored_columns for file, kind in files.items())


def _has_schema(part: Path, schema: pl.Schema) -> bool:
    """Return whether a file is a part with these columns; polars' panics on damage are not Exceptions."""
    try:
        return pl.read_parquet(part, glob=False).schema == schema
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:
        return False


def _comments(view: str, comment: str, columns: Mapping[str, str]) -> str:
    texts = {f'VIEW "{view}"': comment} | {
        f'COLUMN "{view}"."{name}"': text for name, text in columns.items()
    }
    return "".join("COMMENT ON {} IS '{}';\n".format(n, t.replace("'", "''")) for n, t in texts.items())


def read_kinds(folder: Path) -> Mapping[str, PartKind]:
    """Return kind -> declaration, from the files in `folder`. Raises WarehouseError naming the wrong file."""
    kinds: dict[str, PartKind] = {}
    for file in sorted(folder.glob("*.toml")):
        try:
            for name, content in tomllib.loads(file.read_text(encoding="utf-8")).items():
                kinds[name] = _read_kind(name, content)
        except KeyError as error:
            raise WarehouseError(f"{file} does not declare a part kind: it lacks {error}.") from error
        except (ValueError, TypeError) as error:  # TOML and UTF-8 errors are ValueErrors too
            raise WarehouseError(f"{file} does not declare a part kind: {error}.") from error
    return MappingProxyType(dict(sorted(kinds.items())))


def part_kind(kind: str) -> PartKind:
    """Return the declaration of a kind. Raises WarehouseError for an unknown one."""
    if kind not in KINDS:
        raise WarehouseError(
            f"unknown part kind {kind!r}; known: {', '.join(sorted(KINDS))}. Declare a new one in a file of "
            f"{_FOLDER}."
        )
    return KINDS[kind]


def _read_kind(name: str, content: Mapping[str, Any]) -> PartKind:
    unknown = sorted(set(content) - _SECTIONS)
    if unknown:
        raise ValueError(f"unknown section {unknown[0]!r}; known: {', '.join(sorted(_SECTIONS))}")
    columns = {name: _column(name, cells) for name, cells in content["columns"].items()}
    kind = PartKind(
        name=name,
        comment=content["comment"],
        unit=content["unit"],
        key=tuple(content["key"]),
        declared=_provenance(name, content.get("provenance", {})) | columns,
        computed={n: (c["sql"], c["comment"]) for n, c in content.get("computed", {}).items()},
        moved=content.get("moved", False),
    )
    _check(kind, set(columns))
    return kind


def _provenance(kind: str, comments: Mapping[str, str]) -> dict[str, PartColumn]:
    defaults = {
        "part": f"Part that holds the row: parts/{kind}/<part>.parquet.",
        "request_hash": "Request that this answers: run_request.request_hash.",
        "run_id": "Run: run.run_id.",
        "model": "Model.",
    }
    unknown = sorted(set(comments) - set(defaults))
    if unknown:
        raise ValueError(
            f"[provenance] has an unknown column {unknown[0]!r}; known: {', '.join(sorted(defaults))}"
        )
    return {name: PartColumn("VARCHAR", comment) for name, comment in (defaults | dict(comments)).items()}


def _column(name: str, cells: Mapping[str, Any]) -> PartColumn:
    sql_type = cells["type"]
    if sql_type.removesuffix("[]") not in _TYPES:
        raise ValueError(
            f"column {name}: unknown type {sql_type!r}; known: {', '.join(_TYPES)}, or a list such as FLOAT[]"
        )
    return PartColumn(**{"sql_type" if name == "type" else name: value for name, value in cells.items()})


def _check(kind: PartKind, columns: set[str]) -> None:
    """Raise ValueError for names that the view or a part cannot have."""
    for name in (kind.name, *columns, *kind.computed):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name: use lower-case letters, digits and underscores")
    for name in (kind.unit, *kind.key):
        if name not in columns:
            raise ValueError(f"unknown column {name!r}; known: {', '.join(sorted(columns))}")
    if kind.declared[kind.unit].sql_type != "VARCHAR":
        raise ValueError(f"its unit {kind.unit} is not a VARCHAR")
    repeated = sorted(set(kind.computed) & set(kind.declared))
    if repeated:
        raise ValueError(f"column {repeated[0]!r} is declared twice")


KINDS: Mapping[str, PartKind] = read_kinds(_FOLDER)
