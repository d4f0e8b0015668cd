"""The shape of packs: files and rows that an evaluation takes (``Evaluation.pack``), and faults. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from tasks.identity import digest

Rows = Sequence[Mapping[str, Any]]
ByName = Mapping[str, Rows]
"""Rows by table of the study, or by file of a pack."""

LONGEST = 20_000

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Several = Annotated[
    tuple[Text, ...],
    BeforeValidator(
        lambda cell: [part.strip() for part in cell.split("|")] if isinstance(cell, str) else cell
    ),
]
"""Texts in one cell, separated by |."""


class PackRow(BaseModel):
    """Base of rows and tables that users write: columns or fields with their types.

    A field's description explains its column.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Refers(NamedTuple):
    """The values of ``column`` have to stand somewhere.

    Attributes:
        file, of: in that column of that file of the pack; "": in none.
        table, known_as: or in that column of that table of the study; "": in none.
    """

    column: str
    file: str = ""
    of: str = ""
    table: str = ""
    known_as: str = ""


class Taken(NamedTuple):
    """The values of ``columns`` together must not stand in that table of the study under the same names."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class PackFile:
    """One CSV file ``<name>.csv``, or a folder ``<name>/`` of TOML files, each of which is a row.

    Attributes:
        row: its columns, or fields. about: what the rows are, in a sentence.
        key: columns whose values together no two rows share.
    """

    name: str
    row: type[BaseModel]
    about: str
    key: tuple[str, ...]
    taken: Taken | None = None
    refers: tuple[Refers, ...] = ()
    is_folder: bool = False

    @property
    def path(self) -> str:
        """The path below the evaluation's folder, as people write it."""
        return f"{self.name}/*.toml" if self.is_folder else f"{self.name}.csv"


@dataclass(frozen=True)
class Shape:
    """The files that a pack may bring to an evaluation.

    Attributes:
        files: in the order in which they are read and explained.
        join: (the pack's rows by file, the study's tables) -> rows to add to those tables. A table that is
            none of ``Evaluation.tables`` is one of packs alone.
    """

    files: tuple[PackFile, ...]
    join: Callable[[ByName, ByName], ByName]


@dataclass(frozen=True)
class Content:
    """The content of one pack for one evaluation; ``rows`` by file, as JSON has them."""

    pack: str
    evaluation: str
    rows: ByName
    about: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def hash(self) -> str:
        """Identifies the rows: neither the pack's name nor its place, title or version."""
        return digest([self.evaluation, {name: list(rows) for name, rows in self.rows.items()}])

    @property
    def pinned(self) -> str:
        """``name@hash``: how params name exactly this content."""
        return f"{self.pack}@{self.hash}"


class Fault(NamedTuple):
    """Something wrong in a pack: where, what, and what to do."""

    file: str
    line: int | None
    column: str
    what: str
    todo: str

    def __str__(self) -> str:
        place = [self.file]
        place += [f"line {self.line}"] if self.line else []
        kind = "field" if self.file.endswith((".toml", ".py")) else "column"
        place += [f"{kind} {self.column}"] if self.column else []
        return f"{', '.join(place)}: {self.what}; {self.todo}"


class PackError(ValueError):
    """A pack that cannot be used; the message holds all its faults, one a line."""

    def __init__(self, pack: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        some = f"{len(faults)} faults" if len(faults) > 1 else "one fault"
        super().__init__("\n".join([f"the pack {pack!r} has {some}:", *map(str, faults)]))
