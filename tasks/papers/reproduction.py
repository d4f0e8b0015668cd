"""What an evaluation hands over to recompute the tables of its paper from published files. Typed, pure.

A reproduction names the files that it looks for and gives, for every cell that its paper prints, the
number that this project's arithmetic makes of them, or why there is none. What papers leave open are
options; of some several values are tried, in their order, and a cell says which one it needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tasks.metrics.types import FloatArray

Rows = Sequence[Mapping[str, Any]]
Agreement = Literal["equal", "near", "differs", "not recomputed", "not printed"]

TRIED: dict[str, Any] = {"tried": True}
"""``json_schema_extra`` of a field of ``Options`` whose values, a list, are tried one after another."""


def tried(values: Sequence[Any], description: str) -> Any:
    """Such a field, with at least one value."""
    return Field(list(values), min_length=1, json_schema_extra=TRIED, description=description)


_NUMBER = re.compile(r"(?P<bound>[<>]?)\s*[+−-]?\d+(?:[.,](?P<decimals>\d+))?\s*(?P<more>\+?)")
_NEAR = 0.01


class Options(BaseModel):
    """Base of a reproduction's options: its fields are the flags of the command."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(NamedTuple):
    """Files that a reproduction reads.

    Attributes:
        patterns: of their names; the first that fits any file in the folder or below counts.
        format: what is in them, in words.
        is_ours: whether the format is this project's, as the paper publishes none.
    """

    name: str
    patterns: tuple[str, ...]
    format: str
    is_ours: bool = False

    @property
    def missing(self) -> str:
        """Why a cell that needs it has no number."""
        return f"no file of {self.name} ({' or '.join(self.patterns[:2])})"


class Printed(NamedTuple):
    """A cell as the paper prints it (table ``published_result``); ``parts``: its condition, name -> text."""

    table: str
    model: str
    parts: Mapping[str, str]
    metric: str
    printed: str
    value: float | None
    unit: str


class Recomputed(NamedTuple):
    """What the files give for a cell, in the paper's unit.

    Attributes:
        reason: why there is no value.
        null: what the same arithmetic gives for something that knows nothing; ``null_name`` says for what.
        n: how many answers, dishes or items the value is taken over.
    """

    value: float | None = None
    reason: str = ""
    null: float | None = None
    null_name: str = ""
    n: int | None = None


class Compared(NamedTuple):
    """A printed cell beside what was recomputed; ``needs``: the options without which it would not be so."""

    cell: Printed
    number: Recomputed
    agreement: Agreement
    needs: str


@dataclass(frozen=True)
class Tools:
    """What a reproduction may use beside its files.

    Attributes:
        tables: rows of the warehouse, by the names in ``Reproduction.tables``.
        embed: (embedder, texts) -> float32 [texts, d]. Raises ``EngineError``.
        printed: every cell of the paper, also those that are not asked for.
    """

    tables: Mapping[str, Rows]
    embed: Callable[[str, Sequence[str]], FloatArray]
    printed: Sequence[Printed] = ()


O = TypeVar("O", bound=Options)  # noqa: E741
D = TypeVar("D")
Files = Mapping[str, Sequence[Path]]
"""Name of a source -> its files, in the order of their paths; nothing for one that is not there."""


@dataclass(frozen=True)
class Reproduction(Generic[O, D]):
    """A paper's tables from its files.

    Attributes:
        title: whose numbers, in one line.
        options: with the authors' choices as defaults.
        read: (files, options) -> what is in them, and lines on what was left out. Raises ValueError.
        cells: (that, options, tools, printed cells) -> a number for each. Every tried option has one value.
        examples: of the command, what follows ``--data FOLDER``.
        tables: name -> SELECT: what ``Tools.tables`` holds.
        complete: adds to options what is to be tried of what was found.
        depends: which of the options that are tried a cell hangs on; None: on all.
        further: numbers that the files give and the paper shows in figures alone, or not at all; what is
            printed of them is "". Tried options have their first value.
    """

    title: str
    sources: tuple[Source, ...]
    options: type[O]
    read: Callable[[Files, O], tuple[D, Sequence[str]]]
    cells: Callable[[D, O, Tools, Sequence[Printed]], Sequence[Recomputed]]
    examples: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    complete: Callable[[D, O], O] = lambda content, options: options
    depends: Callable[[Printed], Collection[str]] | None = None
    further: Callable[[D, O, Tools], Sequence[tuple[Printed, Recomputed]]] = lambda *given: ()


def find_files(folder: Path, sources: Sequence[Source]) -> dict[str, list[Path]]:
    """The files of each source in a folder and below. Raises ValueError if there is no such folder."""
    if not folder.is_dir():
        raise ValueError(f"--data {folder}: there is no such folder; name the one with the published files")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    paths = {path: path.relative_to(folder).as_posix().casefold() for path in files}
    found: dict[str, list[Path]] = {}
    for source in sources:
        fits = ([p for p, name in paths.items() if _fits(name, pattern)] for pattern in source.patterns)
        found[source.name] = next((some for some in fits if some), [])
    return found


def variants(options: O) -> list[tuple[dict[str, Any], O]]:
    """Every choice of the values to be tried, the fewest differences from the first ones first.

    Returns (field -> value that is not its first, options of which each tried field has one value).
    """
    names = [name for name, info in type(options).model_fields.items() if info.json_schema_extra == TRIED]
    chosen = []
    for values in product(*(getattr(options, name) for name in names)):
        given = dict(zip(names, values, strict=True))
        changed = {name: value for name, value in given.items() if value != getattr(options, name)[0]}
        chosen.append((changed, options.model_copy(update={name: [v] for name, v in given.items()})))
    return sorted(chosen, key=lambda each: len(each[0]))


def work_off(
    kind: Reproduction[O, D], content: D, options: O, tools: Tools, cells: Sequence[Printed]
) -> tuple[list[Compared], int]:
    """Every cell with the first choice of options that gives its digits, else with the first that gives a
    number; and how many choices were tried."""
    found = [Compared(cell, Recomputed(), "not recomputed", "") for cell in cells]
    n_tried = 0
    for changed, single in variants(kind.complete(content, options)):
        left = [
            i
            for i, row in enumerate(found)
            if row.agreement != "equal"
            and (kind.depends is None or changed.keys() <= set(kind.depends(row.cell)))
        ]
        if not left:
            continue
        n_tried += 1
        label = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in changed.items())
        for i, number in zip(left, kind.cells(content, single, tools, [cells[i] for i in left]), strict=True):
            said = agreement(cells[i], number.value)
            if said == "equal" or not changed or (found[i].number.value is None and number.value is not None):
                found[i] = Compared(cells[i], number, said, label)
    return found, n_tried


def agreement(cell: Printed, value: float | None) -> Agreement:
    """equal: as printed once it is rounded, either way where it is half-way, or beyond a printed bound, such
    as ">3700"; near: within a hundredth of it or one unit of its last digit."""
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


def model_names(labels: Iterable[str], printed: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Label in the files -> model in the paper: as given, by equal letters and digits, or by the first word
    where only one of each side has it; else the label itself."""
    ours, theirs = sorted(set(labels)), sorted(set(printed))
    named = {label: given[label] for label in ours if label in given}
    keys: tuple[Callable[[str], str], ...] = (
        lambda text: re.sub(r"[\W_]", "", text.casefold()),
        lambda text: re.match(r"[^\W\d_]*", text.casefold())[0],  # type: ignore[index]
    )
    for key in keys:
        left = [label for label in ours if label not in named]
        free = [name for name in theirs if name not in named.values()]
        for label in left:
            same = [name for name in free if key(name) == key(label)]
            if len(same) == 1 and [key(other) for other in left].count(key(label)) == 1:
                named[label] = same[0]
    return {label: named.get(label, label) for label in ours}


def is_of_table(cell: Printed, wanted: str) -> bool:
    """Whether a table is meant: "1" are Table 1, 1(a) and 1(b), but not 10; "4.3" is section 4.3."""
    name, start = (text.casefold().removeprefix("table").strip() for text in (cell.table, wanted))
    return name.startswith(start) and not (start[-1:].isdigit() and name[len(start) :][:1].isdigit())


def _fits(path: str, pattern: str) -> bool:
    """Whether the end of a path, from the start of a name, fits."""
    return fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}")
