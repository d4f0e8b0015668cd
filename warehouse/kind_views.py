"""The views that show parts: one per kind, of its name, and `unit_rows`, which counts what all show."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from warehouse.part_kinds import EMPTY_PART, PartKind, part_folder
from warehouse.storage import publish, temporary_beside

__all__ = ["create_empty_parts", "empty_parts", "kind_view", "unit_rows_view"]

# The semi-join shows a part's rows only for the units that it is registered for: orphaned and superseded rows
# never show, and no row shows twice.
_VIEW = """CREATE OR REPLACE VIEW "{kind}" AS
SELECT {columns}
FROM {rows} AS p
SEMI JOIN (SELECT part, unit, request_hash FROM part_unit WHERE kind = '{kind}') AS u
    ON p.part = u.part AND p."{unit}" = u.unit AND p.request_hash = u.request_hash;
"""
_COUNT = """SELECT '{kind}' AS kind, request_hash, "{unit}" AS unit, part, count(*) AS n_rows
FROM "{kind}"
GROUP BY ALL"""
_COUNT_COMMENTS = {
    "kind": "Kind of part: part_unit.kind.",
    "request_hash": "What was asked: part_unit.request_hash.",
    "unit": "Which share of the request: part_unit.unit.",
    "part": "Part that holds the rows: part_unit.part.",
    "n_rows": "Rows that the view of the kind shows.",
}


def kind_view(kind: PartKind) -> str:
    """The SQL that makes the view of a kind and its comments; `{parts}` stands for the folder of the parts.

    Columns: run_id and model, those of the kind, those computed, request_hash and part.
    """
    own = [name for name in kind.declared if name not in ("part", "request_hash", "run_id", "model")]
    computed = [f'{sql} AS "{name}"' for name, (sql, _) in kind.computed.items()]
    columns = [f'p."{name}"' for name in ("run_id", "model", *own)]
    last = ["p.request_hash", "p.part"]
    view = _VIEW.format(
        kind=kind.name, unit=kind.unit, rows=_rows(kind), columns=", ".join([*columns, *computed, *last])
    )
    comments = {name: column.comment for name, column in kind.declared.items()}
    comments |= {name: comment for name, (_, comment) in kind.computed.items()}
    return view + _comments(kind.name, kind.comment, comments)


def unit_rows_view(kinds: Iterable[PartKind]) -> str:
    """The SQL that makes the view `unit_rows` over the views of `kinds`."""
    counts = (_COUNT.format(kind=kind.name, unit=kind.unit) for kind in kinds)
    view = "CREATE OR REPLACE VIEW unit_rows AS\n" + "\nUNION ALL\n".join(counts) + ";\n"
    comment = "How many rows the parts of all kinds show for each registered unit (Parquet)."
    return view + _comments("unit_rows", comment, _COUNT_COMMENTS)


def empty_parts(home: Path, kinds: Iterable[PartKind]) -> list[Path]:
    """The part without rows of each kind, so that the views' globs match a file that has every column."""
    return [part_folder(home, kind.name) / f"{EMPTY_PART}.parquet" for kind in kinds]


def create_empty_parts(home: Path, kinds: Iterable[PartKind]) -> None:
    """Write the parts without rows that are missing, or have other columns; old names count as well."""
    for kind in kinds:
        (target,) = empty_parts(home, [kind])
        old = {name: kind.declared[new].type for name, new in kind.renamed.items()}
        schema = pl.Schema(kind.columns | old)
        if target.exists() and pl.read_parquet(target, glob=False).schema == schema:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(target)
        pl.DataFrame(schema=schema).write_parquet(temporary)
        publish(temporary, target)


def _rows(kind: PartKind) -> str:
    """The rows of all files under the present names of the columns."""
    # Only where columns came later, because it reads the footers of all files first.
    united = ", union_by_name = true" if kind.added or kind.renamed else ""
    files = f"read_parquet('{{parts}}/{kind.name}/*.parquet', hive_partitioning = false{united})"
    if not kind.renamed:
        return files
    old = ", ".join(f'"{name}"' for name in kind.renamed)
    either = ", ".join(f'coalesce("{new}", "{old}") AS "{new}"' for old, new in kind.renamed.items())
    return f"(SELECT * EXCLUDE ({old}) REPLACE ({either}) FROM {files})"


def _comments(view: str, comment: str, columns: dict[str, str]) -> str:
    lines = [f'COMMENT ON VIEW "{view}" IS {_literal(comment)};']
    lines += [f'COMMENT ON COLUMN "{view}"."{name}" IS {_literal(text)};' for name, text in columns.items()]
    return "\n".join(lines) + "\n"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
