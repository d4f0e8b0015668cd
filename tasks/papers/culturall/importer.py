"""Makes a pack of CulturALL's items and prompts (Lin et al. 2026) from its published files and program.

The program is read as data and never run. Its judge of native answers has other words than figure 12, which
`culturemeter pack new culturall --as-published` writes a form for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tasks.data import TableError
from tasks.evaluations.culturall.items import CulturallItem, load_items
from tasks.evaluations.culturall.pack import PACK, CulturallTaskRow
from tasks.packs.files import checked_row
from tasks.packs.published import Row, read_rows
from tasks.papers.culturall.reproduction import SOURCES as KNOWN
from tasks.papers.importing import Importer, Pack
from tasks.papers.reproduction import Files, SourceFiles, by_name
from tasks.papers.sources import literal, read_source, template
from tasks.papers.values import NotRead, Pieces, Slot

NAME = "culturall"
PROGRAM = SourceFiles("program", ("*prompt*.py", "*.py"), "Python: functions that return the prompts")
SOURCES = by_name(KNOWN["items"], PROGRAM)
_ASKED = {"scenario": "scenario", "question": "question"}
_JUDGED = {**_ASKED, "answer": "gold", "explanation": "explanation", "prediction": "prediction"}
"""Slot of the program's prompts -> field of ours."""
_ANSWERS = re.compile(r"\banswer the question\b|\bAnswer:\s*$", re.IGNORECASE)
_ITEM = next(file for file in PACK.files if file.row is CulturallTaskRow)


def fill(files: Files, pack: Pack) -> None:
    """Add the items of all files, each once, to replace the shipped ones."""
    published: list[Row] = []
    names = []
    for path in files.get("items", ()):
        try:
            published += read_rows(path)
            names.append(path.name)
        except TableError as error:
            pack.left_out.append(str(error))
    if published:
        loaded = load_items(published, ", ".join(names))
        rows = [_row(item) for item in loaded.items]
        fitting = [row for row in rows if not checked_row(CulturallTaskRow, row, NAME, None)[1]]
        dropped = Counter({"does not fit a pack": len(rows) - len(fitting), **loaded.dropped})
        pack.left_out += [f"{n} rows of {', '.join(names)}: {reason}" for reason, n in dropped.items() if n]
        pack.rows(NAME, _ITEM, fitting, ", ".join(names))
    texts = _prompts(files.get("program", ()), pack)
    pack.table(NAME, "prompts.toml", texts, "the program")
    if published:
        pack.table(NAME, "replaces.toml", {"files": ["item"]}, "what replaces the shipped items")
    pack.left_out += [
        f"{name}: no function of the program returns it; culturemeter pack new culturall --as-published adds "
        "a form to copy figures 11 and 12 into"
        for name in ("prompt", "judge_question")
        if name not in texts
    ]


def _prompts(paths: Iterable[Path], pack: Pack) -> dict[str, str]:
    """Return the prompt of a model, and the judge's rules, question and form, in the words of the functions
    that a program asks and judges native items with.
    """
    found: dict[str, str] = {}
    for path in paths:
        try:
            source = read_source(path)
        except NotRead as error:
            pack.left_out.append(str(error))
            continue
        for function in source.reader.functions:
            try:
                pieces = max(source.texts(function), key=len)
            except NotRead:
                continue
            slots = {piece.name for piece in pieces if isinstance(piece, Slot)}
            if slots == set(_JUDGED):
                found = _judged(pieces) | found
            elif slots == set(_ASKED) and _ANSWERS.search("".join(p for p in pieces if isinstance(p, str))):
                found.setdefault("prompt", template(pieces, _ASKED).strip())
    return found


def _judged(pieces: Pieces) -> dict[str, str]:
    """Return the parts of the judge's prompt: before its fields, the fields with their names, after them."""
    places = [n for n, piece in enumerate(pieces) if isinstance(piece, Slot)]
    rules, _, name = str(pieces[0]).rstrip().rpartition("\n")
    fields: Pieces = (name.lstrip(), *pieces[1 : places[-1] + 1])
    if isinstance(pieces[1], Slot) and str(pieces[0]).endswith(" "):
        fields = (f"{name.lstrip()} ", *fields[1:])
    parts = {
        "judge_rules": literal(rules.strip()),
        "judge_question": template(fields, _JUDGED).strip(),
        "judge_form": "".join(literal(str(piece)) for piece in pieces[places[-1] + 1 :]).strip(),
    }
    return {name: text for name, text in parts.items() if text}


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
    title="The items and prompts of CulturALL (Lin et al. 2026).",
    sources=SOURCES,
    fill=fill,
    source="the published data and program of CulturALL",
)
