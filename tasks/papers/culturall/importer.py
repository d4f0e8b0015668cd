"""Makes a pack of CulturALL's items (Lin et al. 2026) from its published files. The paper prints its prompts
(figures 11 and 12) and publishes no file of them: `culturemeter pack new culturall --as-published` writes a
form to copy them into.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tasks.evaluations.culturall.items import CulturallItem, load_items
from tasks.evaluations.culturall.pack import PACK, CulturallTaskRow
from tasks.packs.files import checked_row
from tasks.packs.published import BenchmarkError, Row, read_rows
from tasks.papers.culturall.reproduction import SOURCES as KNOWN
from tasks.papers.importing import Importer, Pack
from tasks.papers.reproduction import Files, by_name

NAME = "culturall"
SOURCES = by_name(KNOWN["items"])
_ITEM = next(file for file in PACK.files if file.row is CulturallTaskRow)


def read(files: Files, pack: Pack) -> None:
    """Add the items of all files, each once, to replace the shipped ones."""
    published: list[Row] = []
    names = []
    for path in files.get("items", ()):
        try:
            published += read_rows(path)
            names.append(path.name)
        except BenchmarkError as error:
            pack.left_out.append(str(error))
    if published:
        loaded = load_items(published, ", ".join(names))
        rows = [_row(item) for item in loaded.items]
        fitting = [row for row in rows if not checked_row(CulturallTaskRow, row, NAME, None)[1]]
        dropped = Counter({"does not fit a pack": len(rows) - len(fitting), **loaded.dropped})
        pack.left_out += [f"{n} rows of {', '.join(names)}: {reason}" for reason, n in dropped.items() if n]
        pack.rows(NAME, _ITEM, fitting, ", ".join(names))
        pack.table(NAME, "replaces.toml", {"files": ["item"]}, "what replaces the shipped items")
    pack.left_out.append(
        "prompts: no file has them; culturemeter pack new culturall --as-published adds a form to copy "
        "figures 11 and 12 into"
    )


def _row(item: CulturallItem) -> dict[str, Any]:
    """Return an item as a row of a pack, without empty cells."""
    cells = {name: getattr(item, name) for name in ("item", "language", "region", "topic", "form")}
    cells |= item.native._asdict() | {"variants": "|".join(item.variants)}
    if item.english:
        cells |= {f"{name}_en": text for name, text in item.english._asdict().items()}
    if item.solved is not None:
        cells["eval_sum"] = str(item.solved)
    return {column: text for column, text in cells.items() if text}


IMPORTER = Importer(
    title="The items of CulturALL (Lin et al. 2026).",
    sources=SOURCES,
    read=read,
    source="the published data of CulturALL",
)
