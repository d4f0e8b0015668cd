"""A folder's files through a reproduction, with the first value of every option that is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.papers.reproduction import Printed, Recomputed, Reproduction, Tools, find_files, variants


def printed(table: str, metric: str, model: str = "", text: str = "1.00", /, **parts: str) -> Printed:
    """A cell as if the paper printed it."""
    return Printed(table, model, parts, metric, text, None if text[:1] in "<>" else float(text), "score")


def numbers(
    kind: Reproduction[Any, Any],
    folder: Path,
    cells: Sequence[Printed],
    tables: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[Recomputed]:
    """What the files give for the cells."""
    (_, first), *_ = variants(kind.options(**given))
    content, _ = kind.read(find_files(folder, kind.sources), first)
    return list(kind.cells(content, first, Tools(tables or {}, lambda *_: None, cells), cells))  # type: ignore[arg-type,return-value]


def further(
    kind: Reproduction[Any, Any], folder: Path, tables: Mapping[str, Any] | None = None, **given: Any
) -> dict[tuple[str, ...], Recomputed]:
    """(table, model, parts, metric) -> numbers that are not printed."""
    (_, first), *_ = variants(kind.options(**given))
    content, _ = kind.read(find_files(folder, kind.sources), first)
    rows = kind.further(content, first, Tools(tables or {}, lambda *_: None))  # type: ignore[arg-type,return-value]
    return {(c.table, c.model, *c.parts.values(), c.metric): number for c, number in rows}
