"""Data types of a study with people: pages, fields, items and valid answers; reads and writes its files.

A study is a folder of five files. ``study.toml`` and ``items.jsonl`` hold what may be shown.
``private.jsonl`` holds what must stay hidden: the model behind an item, its author, the expected answer.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tasks import parsing
from tasks.data import TableError
from tasks.data import rows as table
from tasks.identity import checked_title, digest
from tasks.parsing import complaints, parse_json, parse_toml

Kind = Literal["ranking", "likert", "choice", "marks", "text", "edit", "confidence", "comment", "chat"]
"""ranking: all entries in an order.

marks: an option per entry. edit: a given text to change. chat: an interview, stored as a JSON list of
(speaker, text); no form sends it.
"""
Role = Literal["author", "annotator", "reviewer", "lead"]

WITH_ENTRIES = ("ranking", "marks")
WITH_OPTIONS = ("choice", "marks", "confidence")
FREE = ("text", "edit", "comment")

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _by_language(texts: Any) -> Any:
    return {"en": texts} if isinstance(texts, str) else texts


Texts = Annotated[dict[str, str], BeforeValidator(_by_language)]
"""Maps language to text; a single text is English."""
Title = Annotated[
    dict[str, Annotated[str, AfterValidator(partial(checked_title, what="the title"))]],
    BeforeValidator(_by_language),
]
"""Texts of one line, which name what people see."""
Value: TypeAlias = str | dict[str, str]
"""A stored answer: a text, digits or an option; for a ranking entry -> rank, for marks entry -> option."""


def in_language(texts: Mapping[str, str], language: str) -> str:
    """Return the text in a language, else the first text, else ""."""
    return texts.get(language) or next(iter(texts.values()), "")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Option(_Strict):
    """One option of a menu: ``value`` is stored, ``label`` is shown."""

    value: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    label: Texts


class FormField(_Strict):
    """One question to a person.

    Attributes:
        of: the part of the item that is ranked, marked (a list) or edited (a text). Without it a ranking
            ranks the options, and marks are for ``rows``.
        points: highest point of a Likert scale from 1; ``ends`` names its ends.
        is_ordered: the options rise, so agreement weighs the distance between them.
        is_shuffled: each person sees options and entries in their own order.
        fills: for a chat, the page per person whose texts the interviewer drafts at its end.
        quota_for: options that share the places evenly. A person is turned away and does not count if the
            share of their option is full or their option is not listed.
        needed_for: a choice on the same page, and its options that require this field.
    """

    name: Name
    kind: Kind
    label: Texts
    help: Texts = {}
    options: tuple[Option, ...] = ()
    rows: tuple[Option, ...] = ()
    of: str = ""
    points: int = Field(5, ge=2, le=11)
    ends: tuple[Texts, Texts] | None = None
    is_required: bool = True
    is_ordered: bool = False
    is_shuffled: bool = False
    fills: str = ""
    needed_for: tuple[str, tuple[str, ...]] | None = None
    quota_for: tuple[str, ...] = ()
    max_chars: int = Field(4000, ge=1, le=20_000)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        values = [option.value for option in self.options]
        if len(set(values)) < len(values):
            raise ValueError(f"field {self.name}: an option occurs twice: {values}")
        if self.kind in WITH_OPTIONS and len(values) < 2:
            raise ValueError(f"field {self.name}: a field of kind {self.kind} needs at least two options")
        if unknown := sorted(set(self.quota_for) - set(values)):
            raise ValueError(f"field {self.name}: quota_for names unknown options: {', '.join(unknown)}")
        if self.needed_for and self.is_required:
            raise ValueError(
                f"field {self.name}: set is_required = false, since only some options need this field"
            )
        if (self.kind == "marks" and not (self.of or self.rows)) or (self.kind == "edit" and not self.of):
            raise ValueError(f"field {self.name}: name the part of the item in `of`")
        if self.kind == "ranking" and not self.of and len(values) < 2:
            raise ValueError(f"field {self.name}: a ranking needs options, or a list of the item in `of`")
        return self

    def entries(self, item: PeopleItem) -> tuple[str, ...]:
        """Return the entries to rank or mark, in the item's own order; () for other kinds."""
        if self.kind not in WITH_ENTRIES:
            return ()
        if not self.of:
            return tuple(option.value for option in self.rows or self.options)
        listed = item.content.get(self.of, [])
        return tuple(dict.fromkeys(listed if isinstance(listed, list) else [listed]))

    def source(self, item: PeopleItem) -> str:
        """Return the text to edit; "" for other kinds."""
        text = item.content.get(self.of, "") if self.kind == "edit" else ""
        return text if isinstance(text, str) else "\n".join(text)

    def most_chars(self, item: PeopleItem) -> int:
        """Return the longest valid text; a given text may be kept whatever its length."""
        return max(self.max_chars, len(self.source(item)))

    def shown(self, item: PeopleItem) -> tuple[str, ...]:
        """Return the things that have an order: the entries, or the values of the options."""
        return self.entries(item) or tuple(option.value for option in self.options)


class Shown(_Strict):
    """A part of an item's content with its heading."""

    name: str
    label: Texts


class FormPage(_Strict):
    """A form.

    ``per`` "item": shown for each assigned item; "person": shown once per person, after the items.
    """

    name: Name
    title: Title
    text: Texts = {}
    role: Role = "annotator"
    per: Literal["item", "person"] = "item"
    shows: tuple[Shown, ...] = ()
    fields: tuple[FormField, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _conditions_are_there(self) -> Self:
        menus = {field.name: {option.value for option in field.options} for field in self.fields}
        for field in self.fields:
            if field.needed_for and not set(field.needed_for[1]) <= menus.get(field.needed_for[0], set()):
                raise ValueError(f"field {field.name}: page {self.name} has no choice {field.needed_for}")
        return self

    def wanted(self, values: Mapping[str, Value]) -> list[FormField]:
        """Return the fields that must be filled in, given the values so far."""
        return [
            field
            for field in self.fields
            if field.is_required
            or (field.needed_for and values.get(field.needed_for[0]) in field.needed_for[1])
        ]


class PeopleStudy(_Strict):
    """A study without its items.

    Attributes:
        kind: kind of study, such as "spectral-ranking"; decides how its answers are used.
        annotators_per_item: people per item; items_per_person: most items per person, checks not counted.
        completion_code: shown at the end, for Prolific.
        min_seconds: people whose median time per page is shorter are excluded.
    """

    name: Name
    kind: Name
    title: Title
    consent: Texts
    guidelines: Texts = {}
    languages: tuple[str, ...] = Field(("en",), min_length=1)
    annotators_per_item: int = Field(3, ge=1)
    items_per_person: int | None = Field(None, ge=1)
    seed: int = 0
    completion_code: Code | None = None
    min_seconds: float = Field(0.0, ge=0)
    pages: tuple[FormPage, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for what, names in (("page", [p.name for p in self.pages]), ("field", [f.name for f in self.fields])):
            if len(set(names)) < len(names):
                raise ValueError(f"study {self.name}: a {what} occurs twice: {sorted(names)}")
        return self

    @property
    def fields(self) -> tuple[FormField, ...]:
        """The fields of all pages."""
        return tuple(field for page in self.pages for field in page.fields)

    def page(self, name: str) -> FormPage:
        """Return the page of that name. Raises KeyError."""
        return {page.name: page for page in self.pages}[name]

    @property
    def hash(self) -> str:
        """Return a hash of all that people are told and asked, items aside."""
        return digest(self.model_dump(mode="json"))


class PeopleItem(_Strict):
    """The public half of an item: part -> text or list of texts."""

    item: Code
    page: Name
    language: str = "en"
    content: dict[str, str | list[str]] = {}

    @property
    def hash(self) -> str:
        """Return a hash of the words that people see."""
        return digest([self.page, self.language, self.content])


class Private(_Strict):
    """The hidden half of an item. ``code`` names it elsewhere, such as ``audit.Answer.code``.

    An item with ``expected`` answers (field -> value) is an attention check, which everyone gets. On a page
    per person it has the page's name. ``at_least`` (choice -> ranking, rank) checks a person against
    themselves: their choice must have this rank or a higher number in their own ranking. ``reader``: the only
    person who sees it. ``chance``: of being drawn at random from the stratum, whose answers have the hash
    ``population``; None for items that were not.
    """

    item: Code
    stratum: str = ""
    chance: Annotated[float, Field(gt=0, le=1)] | None = None
    population: str = ""
    model: str = ""
    condition: str = ""
    author: str = ""
    code: str = ""
    expected: dict[str, Value] = {}
    at_least: dict[str, tuple[str, int]] = {}
    reader: str = ""


class Entry(BaseModel):
    """A checked value. ``missing`` names what a draft lacks: rank, mark, text or choice."""

    value: Value
    missing: Literal["", "empty", "incomplete", "repeated"] = ""

    @property
    def is_complete(self) -> bool:
        return not self.missing


def read_value(field: FormField, item: PeopleItem, raw: Any) -> Entry:
    """Validate the value that a person sent for a field.

    Args:
        raw: a text; a mapping of entries for a ranking or marks. "" means not chosen yet.

    Raises:
        ValueError: a value of the wrong kind, not on the menu, too long or with entries of another item. Our
            pages never send one.
    """
    if field.kind in WITH_ENTRIES:
        return _read_entries(field, field.entries(item), raw)
    if field.kind == "chat":
        raise ValueError(f"{field.name}: an interview cannot be sent by a form")
    most = field.most_chars(item)
    if not isinstance(raw, str) or len(raw.replace("\r\n", "\n")) > most or "\0" in raw:
        raise ValueError(f"{field.name}: expected a text of up to {most} characters")
    if field.kind in FREE:
        text = raw.replace("\r\n", "\n")
        return Entry(value=text, missing="" if text.strip() or not field.is_required else "empty")
    menu = [option.value for option in field.options]
    if field.kind == "likert":
        menu = [str(point) for point in range(1, field.points + 1)]
    if raw and raw not in menu:
        raise ValueError(f"{field.name}: {raw[:50]!r} is not one of {menu}")
    return Entry(value=raw, missing="" if raw or not field.is_required else "empty")


def _read_entries(field: FormField, entries: tuple[str, ...], raw: Any) -> Entry:
    if not isinstance(raw, Mapping) or not raw.keys() <= set(entries):
        raise ValueError(f"{field.name}: expected a mapping of entries of this item")
    is_ranking = field.kind == "ranking"
    menu = [str(r + 1) for r in range(len(entries))] if is_ranking else [o.value for o in field.options]
    chosen = {entry: str(raw[entry]) for entry in entries if raw.get(entry)}
    strange = [value for value in chosen.values() if value not in menu]
    if strange:
        raise ValueError(f"{field.name}: {strange[0][:50]!r} is not one of {menu}")
    if is_ranking and len(set(chosen.values())) < len(chosen):
        return Entry(value=chosen, missing="repeated")
    is_whole = len(chosen) == len(entries) or not (field.is_required or chosen)
    return Entry(value=chosen, missing="" if is_whole else "incomplete" if chosen else "empty")


STUDY, ITEMS, PRIVATE = "study.toml", "items.jsonl", "private.jsonl"
ASSIGNMENTS, ANSWERS = "assignments.csv", "answers.jsonl"

_Row = TypeVar("_Row", bound=BaseModel)


class StudyError(ValueError):
    """A file of a study that cannot be used; the message names file and line."""


class Assignment(BaseModel):
    """One item for one person, at a place from 1. ``shown``: field -> order of its options or entries."""

    model_config = ConfigDict(frozen=True)

    annotator: Code
    role: Role
    language: str
    place: int
    item: Code
    shown: dict[str, list[str]] = {}


class PeopleAnswer(BaseModel):
    """One saved revision of one field.

    Attributes:
        annotator: the code of a person, never a name. item: on a page per person, the page's name.
        shown: the order in which options or entries stood.
        started, saved: when the page was opened and the field saved (UTC).
        revision: from 1. status: a draft is incomplete. tool, version: program that collected it.
    """

    model_config = ConfigDict(frozen=True)

    study_hash: str
    item: Code
    item_hash: str
    annotator: Code
    field: str
    value: Value
    shown: list[str]
    started: datetime
    saved: datetime
    revision: int
    status: Literal["draft", "complete"]
    tool: str
    version: str


@dataclass(frozen=True)
class StudyFolder:
    """A study's folder without the answers. ``items`` include one for each page per person."""

    study: PeopleStudy
    items: dict[str, PeopleItem]
    private: dict[str, Private]
    assignments: tuple[Assignment, ...]


def read_folder(folder: Path) -> StudyFolder:
    """Read a study and check that its files fit each other.

    Raises:
        StudyError: a file cannot be read, an item or page is unknown, or a reviewer has an item of their own.
    """
    study = read_study(folder / STUDY)
    items = {item.item: item for item in read_rows(folder / ITEMS, PeopleItem)}
    items |= {
        page.name: PeopleItem(item=page.name, page=page.name) for page in study.pages if page.per == "person"
    }
    private = {row.item: row for row in read_rows(folder / PRIVATE, Private)}
    pages = {page.name for page in study.pages}
    for item in items.values():
        if item.page not in pages:
            raise StudyError(
                f"{folder / ITEMS}: item {item.item} is on page {item.page}, which does not exist"
            )
    assignments = tuple(_assignments(folder / ASSIGNMENTS))
    for number, each in enumerate(assignments, start=2):
        where = f"{folder / ASSIGNMENTS}, line {number}"
        if each.item not in items:
            raise StudyError(f"{where}: unknown item {each.item}")
        if each.item in private and private[each.item].author == each.annotator:
            raise StudyError(f"{where}: {each.annotator} wrote item {each.item} and cannot review it")
    return StudyFolder(study, items, private, assignments)


def read_study(path: Path) -> PeopleStudy:
    """Read study.toml. Raises StudyError that names the wrong field."""
    try:
        return PeopleStudy.model_validate(parse_toml(parsing.text_of(path.read_bytes())))
    except OSError as error:
        raise StudyError(f"there is no readable study at {path}: {error.strerror}") from error
    except ValidationError as error:
        raise StudyError(f"{path}: {next(complaints(error, 'as a whole'))}") from error
    except ValueError as error:
        raise StudyError(f"{path}: not TOML in UTF-8: {error}") from error


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """Read the lines of a JSON Lines file; none if there is no file. Raises StudyError with file and line."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        try:
            if line:
                rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            raise StudyError(f"{path}, line {number}: {next(complaints(error, 'as a whole'))}") from error
    return rows


def write_rows(path: Path, rows: Iterable[BaseModel]) -> None:
    """Write one JSON object per line."""
    make_private(path)
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")


def write_assignments(path: Path, rows: Sequence[Assignment]) -> None:
    """Write a CSV file with a header; the shown orders are JSON."""
    make_private(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, Assignment.model_fields)
        writer.writeheader()
        for row in rows:
            writer.writerow(row.model_dump() | {"shown": json.dumps(row.shown, ensure_ascii=False)})


def _assignments(path: Path) -> list[Assignment]:
    if not path.exists():
        return []
    try:
        return [
            _assignment(row.cells, f"{path}, {row.place}")
            for row in table(path, needed=Assignment.model_fields)
        ]
    except TableError as error:
        raise StudyError(str(error)) from error


def _assignment(cells: Mapping[str, Any], where: str) -> Assignment:
    filled = {name: cell or "" for name, cell in cells.items()}
    try:
        return Assignment.model_validate(filled | {"shown": parse_json(cells["shown"] or "{}")})
    except ValueError as error:
        reason = next(complaints(error, "as a whole")) if isinstance(error, ValidationError) else error
        raise StudyError(f"{where}: {reason}") from error


def text_of(path: Path) -> str:
    """Return the text of a file. Raises StudyError if it is unreadable or not UTF-8."""
    try:
        return parsing.text_of(path.read_bytes())
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise StudyError(f"{path}: {error}") from error


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, before anything is written to it."""
    path.touch(mode=0o600)
    path.chmod(0o600)
