"""A folder's files through a reproduction, with the first value of every option that is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.papers.reproduction import (
    Numbers,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    Tools,
    find_files,
    variants,
)

Embed = Callable[[str, Sequence[str]], Any]


def printed(table: str, metric: str, model: str = "", text: str = "1.00", /, **parts: str) -> PrintedCell:
    """Return a cell as if the paper printed it; names of parts have spaces for _."""
    named = {name.replace("_", " "): part for name, part in parts.items()}
    return PrintedCell(table, model, named, metric, text, None if text[:1] in "<>" else float(text))


def opened(
    kind: Reproduction[Any, Any],
    folder: Path,
    published: Sequence[PrintedCell] = (),
    tables: Mapping[str, Any] | None = None,
    embed: Embed = lambda *_: None,
    **options: Any,
) -> Numbers[Any, Any]:
    """Return the numbers of the folder's files."""
    chosen = kind.options(**options)
    content, _ = kind.read(find_files(folder, kind.sources), chosen)
    (_, first), *_ = variants(kind.complete(content, chosen))
    return kind.numbers(content, first, Tools(tables or {}, embed, published))


def numbers(
    kind: Reproduction[Any, Any], folder: Path, cells: Sequence[PrintedCell], *more: Any, **options: Any
) -> list[RecomputedCell]:
    """Return the numbers of cells, which are all that the paper prints; further arguments: of ``opened``."""
    return [*map(opened(kind, folder, cells, *more, **options).number, cells)]


def further(kind: Reproduction[Any, Any], folder: Path, *more: Any) -> dict[tuple[str, ...], RecomputedCell]:
    """Return (table, model, parts, metric) -> numbers that the paper does not print."""
    rows = opened(kind, folder, (), *more).further()
    return {(c.table, c.model, *c.parts.values(), c.metric): number for c, number in rows}
