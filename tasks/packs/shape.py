"""Defines the shape of packs: files and rows that an evaluation accepts (``Evaluation.pack``), and faults.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, NamedTuple

from jinja2 import TemplateError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from tasks.identity import checked_name, checked_title, digest
from tasks.packs.prompts import fields_of, from_format

Rows = Sequence[Mapping[str, Any]]
"""Rows of a table, of the warehouse or of a file."""
ByName = Mapping[str, Rows]
"""Table of the study, or file of a pack -> its rows."""

LONGEST = 20_000

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
ModelName = Annotated[Text, AfterValidator(partial(checked_name, what="the name of a model"))]
Title = Annotated[Text, AfterValidator(partial(checked_title, what="the title"))]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Several = Annotated[
    tuple[Text, ...],
    BeforeValidator(
        lambda cell: [part.strip() for part in cell.split("|")] if isinstance(cell, str) else cell
    ),
]
"""Several texts in one cell, separated by |."""


class PackRow(BaseModel):
    """Base of the rows and tables that users write: columns or fields with their types. A field's description
    explains its column.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Refers(NamedTuple):
    """Reference: the values of ``column`` have to exist in a file of the pack or a table of the study.

    Attributes:
        file, of: file of the pack and its column with the values; "": none.
        table, known_as: table of the study and its column with the values; "": none.
    """

    column: str
    file: str = ""
    of: str = ""
    table: str = ""
    known_as: str = ""


class Taken(NamedTuple):
    """Table of the study and columns whose values together identify its rows."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class PackFile:
    """A CSV file ``<name>.csv``, a folder ``<name>/`` of TOML files with a row each, or one TOML file.

    Attributes:
        row: its columns or fields. about: description of the rows, one sentence.
        key: columns whose values together must be unique.
        taken: rows with the values of a shipped row are refused.
        over: rows with the values of a shipped row replace that row.
        is_single: whether it is ``<name>.toml``, with one row.
    """

    name: str
    row: type[BaseModel]
    about: str
    key: tuple[str, ...]
    taken: Taken | None = None
    refers: tuple[Refers, ...] = ()
    is_folder: bool = False
    over: Taken | None = None
    is_single: bool = False

    @property
    def path(self) -> str:
        """Return the path below the evaluation's folder."""
        return (
            f"{self.name}/*.toml" if self.is_folder else f"{self.name}{'.toml' if self.is_single else '.csv'}"
        )

    @property
    def is_toml(self) -> bool:
        """Return whether its rows are TOML files."""
        return self.is_folder or self.is_single

    @property
    def table(self) -> str:
        """Return the table of the study that its rows belong to."""
        shipped = self.taken or self.over
        return shipped.table if shipped else self.name


class Replaces(PackRow):
    """Fields of ``replaces.toml``: files of the pack whose rows replace all shipped ones."""

    files: tuple[Name, ...] = Field(
        min_length=1,
        description="files of this pack, without their endings, whose rows replace all shipped rows",
    )
    made: dict[str, str] = Field(
        {},
        description="hash of each file's rows, and of each text, as pack from read them in the authors' "
        "files; content that was edited since is not the paper's",
    )

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields; an empty ``made`` is left out, so that hashes of packs without it stay."""
        fields: dict[str, Any] = handler(self)
        return fields if self.made else {name: value for name, value in fields.items() if name != "made"}


REPLACES = PackFile(
    "replaces",
    Replaces,
    "Files of this pack that replace shipped content.",
    ("files",),
    is_single=True,
)


def content_hash(rows: Rows) -> str:
    """Return the hash of a file's rows, or of one text in a row of its own."""
    return digest([dict(row) for row in rows])


PROMPTS = "prompts"
"""Name of the pack's file, and of the study's table, with texts that replace shipped prompts."""


@dataclass(frozen=True)
class Wording:
    """A text of an evaluation that a pack may replace.

    Attributes:
        name: field of ``prompts.toml``.
        about: purpose of the text, in a phrase.
        example: every field that it may use -> an example value.
        needs: fields that it must use.
        section: section of the paper that prints it.
    """

    name: str
    about: str
    example: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    section: str = ""

    def checked(self, template: str, elsewhere: Mapping[str, Sequence[str]] = {}) -> str:
        """Return the template; one in the form of Python's ``str.format`` is converted.

        elsewhere: field -> other texts of the evaluation that may use it, for messages.

        Raises:
            ValueError: it is invalid, or lacks or adds a field.
        """
        converted = from_format(template, {*self.example, *elsewhere})
        try:
            if converted is not None and not fields_of(template):
                return self._checked(converted, elsewhere)
            return self._checked(template, elsewhere)
        except (ValueError, TemplateError):
            return self._checked(template if converted is None else converted, elsewhere)

    def _checked(self, template: str, elsewhere: Mapping[str, Sequence[str]]) -> str:
        try:
            used = fields_of(template)
        except TemplateError as error:
            raise ValueError(
                f"not a valid template ({error.message}); {{{{ name }}}} stands for a field, and a brace of "
                "the text is {{ '{' }}"
            ) from error
        if unknown := sorted(used - self.example.keys()):
            known = ", ".join(f"{{{{ {name} }}}}" for name in self.example) or "none"
            other = sorted({text for name in unknown for text in elsewhere.get(name, ())})
            where = f": put the part with it into {' or '.join(other)}" if other else ""
            raise ValueError(f"unknown field {', '.join(unknown)}; known: {known}{where}")
        if missing := [name for name in self.needs if name not in used]:
            raise ValueError(f"it must use {', '.join(f'{{{{ {name} }}}}' for name in missing)}")
        return template

    def unused(self, template: str) -> list[str]:
        """Return the fields that a template may use but does not."""
        used = fields_of(template)
        return [name for name in self.example if name not in used]


@dataclass(frozen=True)
class Shape:
    """The files that a pack may have for an evaluation.

    Attributes:
        files: files in the order of reading and explanation.
        join: (the pack's rows by file, the study's tables) -> rows to add to those tables. A table that is
            not in ``Evaluation.tables`` exists for packs only. Prompts need no join.
        wordings: texts that ``prompts.toml`` may replace, if it is among the files.
    """

    files: tuple[PackFile, ...]
    join: Callable[[ByName, ByName], ByName]
    wordings: tuple[Wording, ...] = ()

    def remaining(self, rows: ByName, tables: ByName) -> ByName:
        """Return the study's tables, without rows if the pack replaces all of them."""
        replacing = {name for row in rows.get(REPLACES.name, ()) for name in row["files"]}
        replaced = {file.table for file in self.files if file.name in replacing}
        return {name: () if name in replaced else table_rows for name, table_rows in tables.items()}

    def added(self, rows: ByName, tables: ByName) -> ByName:
        """Return the study's tables with a pack's rows, which follow shipped rows or replace them.

        rows: the pack's rows by file.
        """
        remaining = self.remaining(rows, tables)
        joined = {**remaining}
        over = {file.over.table: file.over.columns for file in self.files if file.over}
        for name, pack_rows in self.join(rows, remaining).items():
            columns = over.get(name, ())
            pack_keys = (
                {tuple(str(row.get(c, "")) for c in columns) for row in pack_rows} if columns else set()
            )
            shipped_rows = [
                row
                for row in remaining.get(name, ())
                if tuple(str(row.get(c, "")) for c in columns) not in pack_keys
            ]
            joined[name] = [*shipped_rows, *pack_rows]
        if pack_prompts := rows.get(PROMPTS):
            prompts = dict(remaining[PROMPTS][0]) if remaining.get(PROMPTS) else {}
            joined[PROMPTS] = [{**prompts, **pack_prompts[0]}]
        return joined


@dataclass(frozen=True)
class PackContent:
    """The content of one pack for one evaluation. rows: file -> rows, as values of JSON."""

    pack: str
    evaluation: str
    rows: ByName
    about: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def hash(self) -> str:
        """Hash of evaluation and rows, independent of the pack's name, place, title and version."""
        return digest([self.evaluation, {name: list(rows) for name, rows in self.rows.items()}])

    @property
    def pinned(self) -> str:
        """Name of exactly this content in params: ``name@hash``."""
        return f"{self.pack}@{self.hash}"


class PackFault(NamedTuple):
    """A fault in a pack, with its place and what to do."""

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
    """A pack that cannot be used; the message has all its faults, one per line."""

    def __init__(self, pack: str, faults: Sequence[PackFault]) -> None:
        self.faults = tuple(faults)
        count = f"{len(faults)} faults" if len(faults) > 1 else "one fault"
        super().__init__("\n".join([f"the pack {pack!r} has {count}:", *map(str, faults)]))
