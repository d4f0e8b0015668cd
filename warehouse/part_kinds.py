"""The kinds of Parquet parts, as the files kinds/<kind>.toml declare them, and the views that show them.

    comment = "…"                  # of the view <kind> that shows the rows
    unit = "item"                  # the column whose values a part answers
    key = ["item", "judged"]       # no two rows of a part share it, of one request
    moved = true                   # rows of many runs that the database file had before; may be left out
    [provenance]                   # run_id, model or request_hash in words of the kind's own; may be left out
    [columns]                      # name = { type, comment }, in file order, and where it applies:
    reason = { type = "VARCHAR", comment = "…", nullable = true }
    graded = { type = "DOUBLE", comment = "…", added = true }           # came later, and so is nullable
    group_name = { type = "VARCHAR", comment = "…", formerly = "origin" }
    [computed]                     # name = { sql, comment }: columns that only the view has; may be left out

A part written before has no column that was added, and one that was renamed under its old name: it is read as
if it had NULL there, and the new name. The columns part, request_hash, run_id and model are in every part.
A new kind is a new file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import polars as pl

from warehouse.storage import WarehouseError, glob_escaped, written_whole

# Begins with an underscore, which no part name may, so that it is never taken for one.
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
"""Types that a column, or an element of a list, may have: as they are declared -> as polars names them."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""With its suffixes a name for a file has 255 bytes at most."""
_HASHED = re.compile(r"-([0-9a-f]{32})$")
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
    """One column of a kind's parts; without `nullable` it is never empty.

    sql_type: its type as the file has it. formerly: its old name.
    """

    sql_type: str
    comment: str
    nullable: bool = False
    added: bool = False
    formerly: str | None = None

    @property
    def type(self) -> pl.DataType:
        """Its type in a frame."""
        return as_type(self.sql_type)


@dataclass(frozen=True)
class PartKind:
    """Contents of the parts of one kind; the docstring of the module explains the fields.

    declared: all columns in file order. `part` (without its hash), `request_hash` and `run_id` are written as
    columns rather than as file metadata because SQL can join on them, any Parquet writer keeps them, and
    run-length encoding makes them nearly free. They are what lets a part that a killed run left behind be
    registered. computed: name -> (SQL, comment). moved: a part that is not registered answers nothing: what
    is in it the database file still has.
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
    def written(self) -> list[tuple[str, str]]:
        """(name, type as declared) of the columns of the part without rows; old names count too."""
        own = [(name, column.sql_type) for name, column in self.declared.items()]
        return own + [(old, self.declared[new].sql_type) for old, new in self.renamed.items()]

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


def as_type(sql_type: str) -> pl.DataType:
    """Return a declared type, such as FLOAT[], in a frame."""
    inner: pl.DataType = getattr(pl, _TYPES[sql_type.removesuffix("[]")])()
    return pl.List(inner) if sql_type.endswith("[]") else inner


def kind_view(kind: PartKind) -> str:
    """The SQL that makes the view of a kind and its comments; `{parts}` stands for the folder of the parts.

    Columns: run_id and model, those of the kind, those computed, request_hash and part.
    """
    own = [name for name in kind.declared if name not in ("part", "request_hash", "run_id", "model")]
    columns = [f'p."{name}"' for name in ("run_id", "model", *own)]
    columns += [f'{sql} AS "{name}"' for name, (sql, _) in kind.computed.items()]
    present = [f'coalesce("{new}", "{old}") AS "{new}"' for old, new in kind.renamed.items()]
    changes = f"REPLACE ({', '.join(['parse_filename(filename, true) AS part', *present])})"
    if kind.renamed:
        changes = f"EXCLUDE ({', '.join(kind.renamed)}) {changes}"
    view = _VIEW.format(
        kind=kind.name,
        unit=kind.unit,
        columns=", ".join([*columns, "p.request_hash", "p.part"]),
        changes=changes,
        # Only where columns came later, because it reads the footers of all files first.
        united=", union_by_name = true" if kind.added or kind.renamed else "",
    )
    comments = {name: column.comment for name, column in kind.declared.items()}
    return view + _comments(kind.name, kind.comment, comments | {n: c for n, (_, c) in kind.computed.items()})


def unit_rows_view(kinds: Iterable[PartKind]) -> str:
    """The SQL that makes the view `unit_rows`, which counts what the views of `kinds` show."""
    counts = (_COUNT.format(kind=kind.name, unit=kind.unit) for kind in kinds)
    return _COUNTS.replace("{counts}", "\nUNION ALL\n".join(counts))


def part_path(home: Path, kind: str, name: str) -> Path:
    """Return the path of the part in a folder, whether it exists or not.

    Raises WarehouseError for a kind that is not declared, and for a name that no part has: names come out of
    databases that somebody else may have written, and lead nowhere else.
    """
    if name != EMPTY_PART and not is_part_name(name):
        raise WarehouseError(f"{name[:200]!r} is no name of a part: see where this warehouse comes from.")
    return home / "parts" / part_kind(kind).name / f"{name}.parquet"


def is_part_name(name: str) -> bool:
    """Whether a part may have this name: no other gets near the path of a file."""
    return _PART.fullmatch(name) is not None


def has_hash(name: str) -> bool:
    """Whether a part's name has the hash of its content; older code wrote parts without."""
    return _HASHED.search(name) is not None


def is_as_written(name: str, content: bytes) -> bool:
    """Whether a part with this content is the one that was given this name, hash and all."""
    return _is_of(name, sha256(content).hexdigest())


def is_file_as_written(path: Path) -> bool:
    """Whether a file is the part that its name says, hash and all; it is read in pieces."""
    with path.open("rb", buffering=0) as file:
        return _is_of(path.stem, file_digest(file, "sha256").hexdigest())


def _is_of(name: str, digest: str) -> bool:
    expected = _HASHED.search(name)
    return expected is not None and digest[:32] == expected[1]


def empty_part(home: Path, kind: PartKind) -> Path:
    """The part without rows, so that a view reads at least one file, which has every column."""
    return home / "parts" / kind.name / f"{EMPTY_PART}.parquet"


def globs_of(home: Path, kind: PartKind, parts: Iterable[Path]) -> list[str]:
    """Return what a view of a kind reads, as globs: these parts and the one without rows.

    That one comes first, because the first one's columns are the view's. DuckDB also takes the first one for
    as large as the others, so where all parts have the same columns, it comes last.
    """
    empty, files = [empty_part(home, kind)], list(parts)
    return [glob_escaped(file) for file in (files + empty if kind.moved else empty + files)]


def create_empty_parts(home: Path) -> None:
    """Write the parts without rows that are missing, damaged or have other columns; old names count too."""
    for kind in KINDS.values():
        target = empty_part(home, kind)
        schema = pl.Schema({name: as_type(sql_type) for name, sql_type in kind.written})
        if _has_schema(target, schema):
            continue
        with written_whole(target, needed=0) as temporary:
            pl.DataFrame(schema=schema).write_parquet(temporary)


def has_empty_parts(connection: duckdb.DuckDBPyConnection, home: Path) -> bool:
    """Whether `create_empty_parts` would write nothing; polars is not needed to see it."""
    files = {str(empty_part(home, kind)): kind for kind in KINDS.values()}
    listed = ", ".join("'{}'".format(glob_escaped(file).replace("'", "''")) for file in files)
    try:
        rows = connection.execute(_SCHEMAS.format(files=listed)).fetchall()
    except duckdb.Error:  # one is missing or damaged
        return False
    found: dict[str, list[tuple[str, str]]] = {}
    nodes = iter(rows)
    for file, name, n_children, leaf in nodes:
        if n_children:  # a list: a group within it, and its elements in there
            _, (_, _, _, element) = next(nodes), next(nodes)
            leaf = f"{element}[]"
        found.setdefault(file, []).append((name, leaf))
    return all(found.get(file) == kind.written for file, kind in files.items())


def _has_schema(part: Path, schema: pl.Schema) -> bool:
    """Whether a file is a part with these columns; on some damage Polars panics, which is no Exception."""
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
    """Kind -> its declaration, of every file in `folder`. Raises WarehouseError naming the wrong file."""
    return MappingProxyType({file.stem: _read_kind(file) for file in sorted(folder.glob("*.toml"))})


def part_kind(kind: str) -> PartKind:
    """The declaration of `kind`. Raises WarehouseError for one that is not declared."""
    if kind not in KINDS:
        raise WarehouseError(
            f"no part kind {kind!r}: expected one of {sorted(KINDS)}. A new one is a file in {_FOLDER}."
        )
    return KINDS[kind]


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
            moved=content.get("moved", False),
        )
        _check(kind, set(columns))
    except KeyError as error:
        raise WarehouseError(f"{file} does not declare a part kind: it lacks {error}.") from error
    except (ValueError, TypeError) as error:  # TOML and UTF-8 errors are ValueErrors too
        raise WarehouseError(f"{file} does not declare a part kind: {error}.") from error
    return kind


def _provenance(kind: str, comments: Mapping[str, str]) -> dict[str, PartColumn]:
    usual = {
        "part": f"Part that holds the row: parts/{kind}/<part>.parquet.",
        "request_hash": "Request that this answers: run_request.request_hash.",
        "run_id": "Run: run.run_id.",
        "model": "Model.",
    }
    unknown = sorted(set(comments) - set(usual))
    if unknown:
        raise ValueError(
            f"[provenance] has {unknown}, and none but {sorted(usual)} is a column of every part"
        )
    return {name: PartColumn("VARCHAR", comment) for name, comment in (usual | dict(comments)).items()}


def _column(name: str, cells: Mapping[str, Any]) -> PartColumn:
    written = cells["type"]
    if written.removesuffix("[]") not in _TYPES:
        raise ValueError(
            f"column {name}: no type {written!r}; expected one of {list(_TYPES)}, or a list: FLOAT[]"
        )
    return PartColumn(**{"sql_type" if name == "type" else name: value for name, value in cells.items()})


def _check(kind: PartKind, own: set[str]) -> None:
    """Raise ValueError for names that the view or a part could not have."""
    for name in (kind.name, *own, *kind.computed):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: use small letters, digits and underscores")
    for name in (kind.unit, *kind.key):
        if name not in own:
            raise ValueError(f"{name!r} is not among its columns {sorted(own)}")
    if kind.declared[kind.unit].sql_type != "VARCHAR":
        raise ValueError(f"its unit {kind.unit} is not a VARCHAR")
    taken = sorted({*kind.computed, *kind.renamed} & set(kind.declared))
    if taken:
        raise ValueError(f"{taken} is a column already")


KINDS: Mapping[str, PartKind] = read_kinds(_FOLDER)
