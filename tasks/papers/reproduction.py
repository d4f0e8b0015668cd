"""Defines the contract of a reproduction of a paper's tables from its published files. Typed, pure. A
reproduction names the files that it looks for. For every cell that its paper prints, it returns the number
that this project's arithmetic computes from them, or the reason why there is none. Choices that a paper
leaves open are options. Some options have several values, which are tried in order, and a cell names the
value that it needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tasks.data.folders import checked_link, home_of
from tasks.metrics.types import FloatArray
from tasks.packs.shape import Rows

Agreement = Literal["equal", "near", "differs", "not recomputed", "not printed"]

TRIED: dict[str, Any] = {"tried": True}
"""``json_schema_extra`` of a field of ``Options`` whose list of values is tried in order."""


def tried_field(values: Sequence[Any], description: str) -> Any:
    """Return a field with at least one value to try."""
    return Field(list(values), min_length=1, json_schema_extra=TRIED, description=description)


def renamed_field() -> Any:
    """Return a field that maps models in the files to models in the paper."""
    about = "model in the files = model in the paper; others by equal name, or by its first word"
    return Field({}, description=about)


_NUMBER = re.compile(r"(?P<bound>[<>]?)\s*[+−-]?\d+(?:[.,](?P<decimals>\d+))?\s*(?P<more>\+?)")
_NEAR = 0.01
MOST_NAMES = 12
"""Most names that one line lists."""
_TOOL_FOLDERS = {"__pycache__", "node_modules", "venv", "site-packages", "__macosx"}


class Options(BaseModel):
    """Base of a reproduction's options: its fields are the flags of the command."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceFiles(NamedTuple):
    """Files that a reproduction reads.

    Attributes:
        patterns: patterns of names, or of folders and names (``*/*.csv``); * does not match a slash. The
            first pattern that fits a file in the folder or its subfolders counts.
        format: description of their content.
        is_ours: whether the format is this project's, as the paper publishes none.
    """

    name: str
    patterns: tuple[str, ...]
    format: str
    is_ours: bool = False

    @property
    def missing(self) -> str:
        """Return the reason why a cell that needs the source has no number."""
        return f"no file of {self.name} ({' or '.join(self.patterns[:2])})"

    @property
    def to_be_had(self) -> str:
        """Return where the published file is to be had, if its format names the place; "" otherwise."""
        _, is_published, where = self.format.partition("as published: ")
        return where if is_published and "Hugging Face" in where else ""


class PrintedCell(NamedTuple):
    """A cell of the paper (table ``published_result``). parts: its condition, name -> text. printed: "" for a
    number that the paper shows only in a figure or not at all.
    """

    table: str
    model: str
    parts: Mapping[str, str]
    metric: str
    printed: str = ""
    value: float | None = None
    unit: str = "score"


class RecomputedCell(NamedTuple):
    """The number computed from the files for a cell, in the paper's unit.

    Attributes:
        reason: why there is no value, or why it differs from the printed one. null: value of a null model by
            the same arithmetic. null_name: its name, if any. n: number of answers, dishes or items behind
            the value.
    """

    value: float | None = None
    reason: str = ""
    null: float | None = None
    null_name: str = ""
    n: int | None = None


class ComparedCell(NamedTuple):
    """A printed cell and its recomputed number. needs: the options that give this number."""

    cell: PrintedCell
    number: RecomputedCell
    agreement: Agreement
    needs: str


class NoNumber(Exception):  # noqa: N818 - not an error: a cell without a number
    """Raised for a cell that has no number; the message is the reason."""


@dataclass(frozen=True)
class Tools:
    """The resources of a reproduction other than its files.

    Attributes:
        tables: rows of the warehouse, by the names in ``Reproduction.tables``.
        embed: (embedder, texts) -> float32 [texts, d]. Raises ``EngineError``.
        printed: every cell of the paper, requested or not.
    """

    tables: Mapping[str, Rows]
    embed: Callable[[str, Sequence[str]], FloatArray]
    printed: Sequence[PrintedCell] = ()


O = TypeVar("O", bound=Options)  # noqa: E741
D = TypeVar("D")
DATA_SUFFIXES = frozenset({".csv", ".json", ".jsonl", ".parquet", ".tsv", ".xlsx"})

Files = Mapping[str, Sequence[Path]]
"""Name of a source -> its files, in the order of their paths; a missing source has no entry."""


class Named(NamedTuple):
    """Names of one kind, such as models, in the files and in the paper.

    Attributes:
        kind: plural, such as "models". found: in the files, spelled as in the paper where it has them.
        printed: in the paper.
    """

    kind: str
    found: Collection[str]
    printed: Collection[str]

    @property
    def n_common(self) -> int:
        """Return how many of the paper's names the files have."""
        return len(set(self.found) & set(self.printed))

    @property
    def notes(self) -> list[str]:
        """Return what the files have and the paper lacks, and what of the paper's they lack."""
        if not self.found or not self.printed:
            return []
        others, lacking = sorted({*self.found} - {*self.printed}), sorted({*self.printed} - {*self.found})
        notes = [f"{self.kind} that the paper has no number of: {_few(others)}"] * bool(others)
        if lacking:
            n = f"{self.n_common} of the paper's {len(self.printed)} {self.kind} are in the files"
            notes.append(f"{n}; without {_few(lacking)}")
        return notes


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


@dataclass(frozen=True)
class Numbers(Generic[D, O]):
    """Computes a paper's numbers from the content of its files, with one value for each tried option."""

    content: D
    options: O
    tools: Tools

    def number(self, cell: PrintedCell) -> RecomputedCell:
        """Return the number of a printed cell, or the reason why there is none. The reason of a number over
        fewer models, or others, than the paper's says so.
        """
        try:
            number = self._number(cell)
        except NoNumber as reason:
            return RecomputedCell(reason=str(reason))
        if number.value is None or number.reason:
            return number
        fewer = (
            f"over {each.n_common} of the paper's {len(each.printed)} {each.kind}"
            for each in self.known_names
            if each.kind in self.pooled(cell) and each.found and each.n_common < len(each.printed)
        )
        return number._replace(reason="; ".join(fewer))

    @cached_property
    def known_names(self) -> Sequence[Named]:
        """Return the names in the files beside the paper's, by kind; what differs is listed (``Named``)."""
        return ()

    def pooled(self, cell: PrintedCell) -> Collection[str]:
        """Return the kinds of ``known_names`` that a cell's number is over all of."""
        return ()

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        """Return the number of a printed cell. Raises NoNumber."""
        raise NotImplementedError

    def further(self) -> Iterable[tuple[PrintedCell, RecomputedCell]]:
        """Yield numbers from the files that the paper does not print."""
        return ()


@dataclass(frozen=True)
class Reproduction(Generic[D, O]):
    """Recomputes a paper's tables from its files.

    Attributes:
        title: the numbers and their paper, in one line.
        options: type of the options, with the authors' choices as defaults.
        read: (files, options) -> their content, and lines on what was left out. Raises ValueError.
        examples: options of the command after ``--data FOLDER``.
        further: tables and figures with numbers that the paper does not print (``Numbers.further``).
        tables: name -> SELECT of the rows in ``Tools.tables``.
        complete: adds values to try that depend on the files.
        depends: tried options whose values decide whether a cell matches; None: all.
        unmatched: why the published files cannot give a cell its printed digits; "": they can.
    """

    title: str
    sources: Mapping[str, SourceFiles]
    options: type[O]
    read: Callable[[Files, O], tuple[D, Sequence[str]]]
    numbers: type[Numbers[D, O]]
    examples: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    complete: Callable[[D, O], O] = lambda content, options: options
    depends: Callable[[PrintedCell], Collection[str]] | None = None
    unmatched: Callable[[PrintedCell], str] = lambda cell: ""


def by_name(*sources: SourceFiles) -> dict[str, SourceFiles]:
    """Return the sources by name."""
    return {source.name: source for source in sources}


def find_files(folder: Path, sources: Mapping[str, SourceFiles]) -> dict[str, list[Path]]:
    """Return the files of each source in a folder and its subfolders.

    Raises ValueError if there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"--data {folder}: no such folder; name the folder with the published files")
    files = sorted(_walk(folder))
    paths = {path: PurePosixPath(path.relative_to(folder).as_posix().casefold()) for path in files}
    matches: dict[str, list[Path]] = {}
    for source in sources.values():
        by_pattern = (
            [file for file, path in paths.items() if path.match(pattern)] for pattern in source.patterns
        )
        matches[source.name] = next(filter(None, by_pattern), [])
    return matches


def unused(folder: Path, files: Files) -> list[str]:
    """Return the names of a folder's data files that no source takes."""
    taken = {path for paths in files.values() for path in paths}
    data = (path for path in sorted(_walk(folder)) if path.suffix.casefold() in DATA_SUFFIXES)
    return [path.relative_to(folder).as_posix() for path in data if path not in taken]


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, without hidden folders, caches of tools, and folders
    that cannot be read.
    """
    folders, home = [folder], home_of(folder)
    while folders:
        with suppress(OSError):  # no permission
            for path in folders.pop().iterdir():
                if path.name.startswith(".") or path.name.casefold() in _TOOL_FOLDERS:
                    continue
                if path.is_dir():
                    if not path.is_symlink():  # a link to its own folder would never end
                        folders.append(path)
                elif path.is_file():
                    yield checked_link(path, home)


def variants(options: O) -> list[tuple[dict[str, Any], O]]:
    """Return every combination of values to try, those with the fewest changes from the first values first.
    Each is (field -> changed value, options with one value per tried field).
    """
    names = [name for name, info in type(options).model_fields.items() if info.json_schema_extra == TRIED]
    combinations = []
    for values in product(*(getattr(options, name) for name in names)):
        values_of = dict(zip(names, values, strict=True))
        changed = {name: value for name, value in values_of.items() if value != getattr(options, name)[0]}
        single = options.model_copy(update={name: [v] for name, v in values_of.items()})
        combinations.append((changed, single))
    return sorted(combinations, key=lambda combination: len(combination[0]))


def compare_cells(
    kind: Reproduction[D, O], content: D, options: O, tools: Tools, cells: Sequence[PrintedCell]
) -> tuple[list[ComparedCell], int]:
    """Return every cell with the first options that give its digits, else the first that give a number; and
    the number of combinations tried. None is tried for a cell that the files cannot give.
    """
    rows = [ComparedCell(cell, RecomputedCell(), "not recomputed", "") for cell in cells]
    depends = [set(kind.depends(cell)) if kind.depends else None for cell in cells]
    unmatched = [kind.unmatched(cell) for cell in cells]
    n_tried = 0
    for changed, single in variants(kind.complete(content, options)):
        open_cells = [
            i
            for i, row in enumerate(rows)
            if row.agreement != "equal"
            and ((options_of_cell := depends[i]) is None or changed.keys() <= options_of_cell)
            and not (changed and unmatched[i])
        ]
        if not open_cells:
            continue
        n_tried += 1
        needs = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in changed.items())
        numbers = kind.numbers(content, single, tools)
        for i in open_cells:
            number = numbers.number(cells[i])
            agrees = agreement(cells[i], number.value)
            is_first = rows[i].number.value is None and number.value is not None
            if agrees == "equal" or not changed or is_first:
                rows[i] = ComparedCell(cells[i], number, agrees, needs)
    return [_with_reason(row, why) for row, why in zip(rows, unmatched, strict=True)], n_tried


def _with_reason(row: ComparedCell, reason: str) -> ComparedCell:
    """Return the row, with the reason if it is known that its digits cannot be met."""
    if not reason or row.agreement in ("equal", "not printed") or row.number.value is None:
        return row
    reasons = filter(None, (reason, row.number.reason))
    return row._replace(number=row.number._replace(reason="; ".join(reasons)))


def agreement(cell: PrintedCell, value: float | None) -> Agreement:
    """Return "equal" for a number that rounds to the printed one (halves either way) or satisfies a printed
    bound such as ">3700"; "near" within a hundredth or one unit of the last digit.
    """
    if value is None or math.isnan(value):
        return "not recomputed"
    if not cell.printed:
        return "not printed"
    number = _NUMBER.fullmatch(cell.printed.strip().rstrip("%"))
    if number is None:
        return "differs"
    if cell.value is None:
        bound = float(re.sub(r"[^\d.]", "", cell.printed))
        holds = value < bound if number["bound"] == "<" else value > bound
        return "equal" if holds or (number["more"] and value == bound) else "differs"
    unit = 10.0 ** -len(number["decimals"] or "")
    distance, rounding = abs(value - cell.value), 1e-9 * max(1.0, abs(cell.value))
    if distance <= unit / 2 + rounding:
        return "equal"
    return "near" if distance <= max(unit, _NEAR * abs(cell.value)) + rounding else "differs"


def model_names(labels: Iterable[str], printed: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return label in the files -> model in the paper: as given, by equal letters and digits, or by a first
    word that is unique on both sides; else the label itself.
    """
    labels_sorted, printed_sorted = sorted(set(labels)), sorted(set(printed))
    name_of = {label: names[label] for label in labels_sorted if label in names}
    keys: tuple[Callable[[str], str], ...] = (
        lambda text: re.sub(r"[\W_]", "", text.casefold()),
        lambda text: re.match(r"[^\W\d_]*", text.casefold())[0],  # type: ignore[index]
    )
    for key in keys:
        open_labels = [label for label in labels_sorted if label not in name_of]
        free = [name for name in printed_sorted if name not in name_of.values()]
        for label in open_labels:
            candidates = [name for name in free if key(name) == key(label)]
            if (
                len(candidates) == 1
                and [key(other_label) for other_label in open_labels].count(key(label)) == 1
            ):
                name_of[label] = candidates[0]
    return {label: name_of.get(label, label) for label in labels_sorted}


def is_of_table(table: str, selection: str) -> bool:
    """Return whether a name selects a table: "1" selects tables 1, 1(a) and 1(b), but not 10; "4.3" section
    4.3.
    """
    name, start = (text.casefold().removeprefix("table").strip() for text in (table, selection))
    return name.startswith(start) and not (start[-1:].isdigit() and name[len(start) :][:1].isdigit())
