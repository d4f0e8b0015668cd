"""Defines the contract of an importer, which makes a pack of a paper's texts from its authors' files. Typed,
pure.

A module ``tasks/papers/<name>/importer.py`` has ``IMPORTER``. It finds files in a clone of the authors'
repository like ``reproduce``, reads them as data, and adds the files of a pack. A missing file loses only its
own part, with a note. This repository has no text of the authors.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.packs.files import read_csv
from tasks.packs.shape import PROMPTS, REPLACES, PackFile, content_hash
from tasks.papers.reproduction import Files, SourceFiles, find_files


@dataclass
class Pack:
    """A pack under construction.

    Attributes:
        files: path below the pack's folder -> text.
        added: lines on what was added. left_out: lines on what was left out, and why.
        countries: name of a country -> its code in the warehouse.
    """

    countries: Mapping[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _made: dict[tuple[str, str], str] = field(default_factory=dict)
    """Evaluation, file or text -> hash of what was read."""

    def rows(self, evaluation: str, file: PackFile, rows: Sequence[Mapping[str, Any]], source: str) -> None:
        """Add a CSV file of rows; a file without rows is not written."""
        if rows:
            text = csv_text(rows, file.row.model_fields)
            self.files[f"{evaluation}/{file.path}"] = text
            read, _ = read_csv(text.encode(), file.path, file)
            self._made[evaluation, file.name] = content_hash([row for *_, row in read])
            self.added.append(f"{file.path}: {len(rows)} rows of {source}")

    def table(self, evaluation: str, path: str, values: Mapping[str, Any], source: str) -> None:
        """Add a TOML file of texts and lists of texts; one without values is not written."""
        if values:
            if path == f"{REPLACES.name}.toml":
                values = {
                    **values,
                    "made": {name: h for (of, name), h in self._made.items() if of == evaluation},
                }
            elif path == f"{PROMPTS}.toml":
                self._made |= {
                    (evaluation, f"{PROMPTS}.{name}"): content_hash([{name: text}])
                    for name, text in values.items()
                }
            self.files[f"{evaluation}/{path}"] = toml_text(values)
            self.added.append(f"{path}: {', '.join(values)} of {source}")


@dataclass(frozen=True)
class Importer:
    """Makes a pack of the files of a paper's authors.

    Attributes:
        title: the texts and their paper, in one line.
        sources: files to look for.
        fill: (files of each source, pack to add to). Raises ValueError if a file cannot be read.
        licence, source: values for ``pack.toml``.
    """

    title: str
    sources: Mapping[str, SourceFiles]
    fill: Callable[[Files, Pack], None]
    source: str = ""
    licence: str = ""


def pack_from(importer: Importer, folder: Path, countries: Mapping[str, str]) -> Pack:
    """Return the pack of the files in a folder and its subfolders.

    Args:
        countries: name of a country -> its code in the warehouse.

    Raises:
        ValueError: there is no such folder, a file cannot be read, or nothing was found in it.
    """
    files = find_files(folder, importer.sources)
    pack = Pack(countries)
    importer.fill(files, pack)
    for source in importer.sources.values():
        if not files[source.name]:
            pack.left_out.append(f"{source.missing}{source.to_be_had and f'; get {source.to_be_had}'}")
    if not pack.files:
        known = "; ".join(f"{s.name}: {' or '.join(s.patterns[:2])}" for s in importer.sources.values())
        raise ValueError(f"--data {folder}: no known file in it. {importer.title} Known files: {known}")
    about = {"title": importer.title, "source": importer.source, "licence": importer.licence}
    pack.files["pack.toml"] = toml_text({name: text for name, text in about.items() if text})
    return pack


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Return rows as CSV: lists joined by |, None as an empty cell, without empty columns."""
    rows = list(rows)
    used = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(used)
    for row in rows:
        writer.writerow(
            ["|".join(c) if isinstance(c, list | tuple) else c for c in (row.get(n) for n in used)]
        )
    return text.getvalue()


def toml_text(values: Mapping[str, Any]) -> str:
    """Return texts, numbers and lists as TOML, with multi-line texts as multi-line strings."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def _toml(value: Any) -> str:
    if (
        isinstance(value, str)
        and "\n" in value
        and "'''" not in value
        and "\r" not in value
        and value[-1] != "'"
    ):
        return f"'''\n{value}'''"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(part)}" for name, part in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
