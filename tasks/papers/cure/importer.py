"""Makes a pack of the benchmarks of CURE (Vo and Koyejo 2025) from their authors' files. The paper prints its
prompts and rubrics and publishes no file of them: `culturemeter pack new cure --as-published` writes a form
to copy them into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapers.countries import CountryCodes
from tasks.data import TableError
from tasks.evaluations.cure.pack import PACK, CureItemRow
from tasks.evaluations.cure.published import LOADERS, BenchmarkItem
from tasks.evaluations.cure.study import WORDS, situation
from tasks.packs.files import checked_row
from tasks.packs.published import Row, read_rows
from tasks.papers.cure.reproduction import SOURCES as KNOWN
from tasks.papers.importing import Importer, Pack
from tasks.papers.reproduction import Files, by_name

NAME = "cure"
SOURCES = by_name(*(KNOWN[name] for name in LOADERS))
_ITEM = next(file for file in PACK.files if file.row is CureItemRow)


def fill(files: Files, pack: Pack) -> None:
    """Add the items of each benchmark, to replace its shipped sample."""
    codes = CountryCodes(pack.countries)
    rows: list[dict[str, Any]] = []
    data_files = []
    for name, load in LOADERS.items():
        published = _rows(files.get(name, ()), pack)
        if not published:
            continue
        try:
            loaded = load(published, codes)
        except TableError as error:
            pack.left_out.append(f"{name}: {error}")
            continue
        known_codes = set(pack.countries.values())
        with_country = [_row(item) for item in loaded.items if item.country in known_codes]
        fitting = [row for row in with_country if not checked_row(CureItemRow, row, name, None)[1]]
        dropped = Counter({
            "without a country of the warehouse": len(loaded.items) - len(with_country),
            "that do not fit a pack": len(with_country) - len(fitting),
            **loaded.dropped,
        })  # fmt: skip
        pack.left_out += [f"{name}: {n} items {reason}" for reason, n in dropped.items() if n]
        if fitting:
            rows += fitting
            data_files.append(name)
    pack.rows(NAME, _ITEM, rows, f"{', '.join(data_files)}")
    if len(data_files) == len(LOADERS):
        pack.table(NAME, "replaces.toml", {"files": ["item"]}, "what replaces the shipped samples")
    elif data_files:
        pack.left_out.append(
            f"shipped samples stay for {', '.join(n for n in LOADERS if n not in data_files)}"
        )
    pack.left_out.append(
        "prompts and rubrics: no file has them; culturemeter pack new cure --as-published adds a form to "
        "copy appendices A and B into"
    )


def _rows(paths: Any, pack: Pack) -> dict[str, list[Row]]:
    """Return the rows of each file; a file that cannot be read is left out and noted."""
    rows: dict[str, list[Row]] = {}
    for path in map(Path, paths):
        try:
            rows[f"{path.parent.name}/{path.name}"] = list(read_rows(path))
        except TableError as error:
            pack.left_out.append(str(error))
    return rows


def _row(item: BenchmarkItem) -> dict[str, Any]:
    """Return an item as a row of a pack with the published meaning, without empty cells."""
    texts: Mapping[str, str] = item.extra
    place_names = {"country": texts.get("country_name", item.group), "group": item.group}
    side = re.search(r"/(adhere|violate)$", item.item)
    name = f"{item.benchmark}-{_identifier(item.item)}" if side else _identifier(item.item)
    cells = {
        "benchmark": item.benchmark,
        "item": name,
        "country": item.country,
        "group_name": item.group,
        "persona": texts.get("persona", ""),
        "situation": situation(item) or item.question,
        "question": texts.get("question") or WORDS[item.benchmark]["question"].format(**place_names),
        "label": item.label,
        "gold": item.gold,
        "cues": "|".join(item.cues),
        "rule": texts.get("rule", ""),
        "judged": "no" if item.not_judged else "",
    }
    return {column: text for column, text in cells.items() if text}


def _identifier(name: str) -> str:
    """Return an identifier for packs: "Saudi_Arabia_14/ab/adhere" becomes saudi_arabia_14_ab-adhere."""
    head, _, side = name.casefold().rpartition("/")
    plain = re.sub(r"[^a-z0-9_]+", "_", head or side)
    return f"{plain}-{side}" if head else plain


IMPORTER = Importer(
    title="The benchmarks of CURE (Vo and Koyejo 2025): NormAd, CASA, CultureBank and SpecNorm.",
    sources=SOURCES,
    fill=fill,
    source="the benchmarks' own repositories",
    licence="each benchmark's own",
)
