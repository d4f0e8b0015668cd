"""The five files of a study's folder, read and checked, and written. Text in UTF-8."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.parsing import parse_json, parse_toml
from tasks.people.study import Code, Item, Private, Role, Study, Value

STUDY, ITEMS, PRIVATE = "study.toml", "items.jsonl", "private.jsonl"
ASSIGNMENTS, ANSWERS = "assignments.csv", "answers.jsonl"

_Row = TypeVar("_Row", bound=BaseModel)


class StudyError(ValueError):
    """A file of a study that cannot be used; the message names file and line."""


class Assignment(BaseModel):
    """One item for one person, at a place from 1. ``shown``: field -> the order in which it is shown."""

    model_config = ConfigDict(frozen=True)

    annotator: Code
    role: Role
    language: str
    place: int
    item: Code
    shown: dict[str, list[str]] = {}


class Answer(BaseModel):
    """One saved revision of one field.

    Attributes:
        annotator: the code of a person, never a name. item: of a page per person, the page's name.
        shown: the order in which options or entries stood.
        started, saved: when the page was opened and the field saved (UTC).
        revision: from 1. status: a draft lacks something.
        tool, version: what collected it.
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
class Folder:
    """A study as its folder has it, without the answers. ``items`` include one for each page per person."""

    study: Study
    items: dict[str, Item]
    private: dict[str, Private]
    assignments: tuple[Assignment, ...]


def read_folder(folder: Path) -> Folder:
    """Read a study and check that its files fit each other.

    Raises:
        StudyError: a file cannot be read, an item or page is unknown, or a reviewer has an item of their own.
    """
    study = read_study(folder / STUDY)
    items = {item.item: item for item in read_rows(folder / ITEMS, Item)}
    items |= {page.name: Item(item=page.name, page=page.name) for page in study.pages if page.per == "person"}
    private = {row.item: row for row in read_rows(folder / PRIVATE, Private)}
    pages = {page.name for page in study.pages}
    for item in items.values():
        if item.page not in pages:
            raise StudyError(f"{folder / ITEMS}: item {item.item} is on page {item.page}, which is not there")
    assignments = tuple(_assignments(folder / ASSIGNMENTS))
    for number, each in enumerate(assignments, start=2):
        where = f"{folder / ASSIGNMENTS}, line {number}"
        if each.item not in items:
            raise StudyError(f"{where}: there is no item {each.item}")
        if each.item in private and private[each.item].author == each.annotator:
            raise StudyError(f"{where}: {each.annotator} wrote item {each.item} and cannot review it")
    return Folder(study, items, private, assignments)


def read_study(path: Path) -> Study:
    """Raises StudyError, which names the field that is wrong."""
    try:
        return Study.model_validate(parse_toml(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StudyError(f"there is no readable study at {path}: {error.strerror}") from error
    except ValidationError as error:
        raise StudyError(f"{path}: {_fault(error)}") from error
    except ValueError as error:
        raise StudyError(f"{path}: not TOML in UTF-8: {error}") from error


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """The lines of a JSONL file; none if there is no file. Raises StudyError with file and line."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        try:
            if line:
                rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            raise StudyError(f"{path}, line {number}: {_fault(error)}") from error
    return rows


def write_rows(path: Path, rows: Iterable[BaseModel]) -> None:
    """One JSON object a line."""
    make_private(path)
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")


def write_assignments(path: Path, rows: Sequence[Assignment]) -> None:
    """A CSV file with a header; the shown orders are JSON."""
    make_private(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, Assignment.model_fields)
        writer.writeheader()
        for row in rows:
            writer.writerow(row.model_dump() | {"shown": json.dumps(row.shown, ensure_ascii=False)})


def _assignments(path: Path) -> list[Assignment]:
    if not path.exists():
        return []
    rows = []
    try:
        for cells in csv.DictReader(io.StringIO(text_of(path), newline="")):
            rows.append(Assignment.model_validate(cells | {"shown": parse_json(cells["shown"] or "{}")}))
    except StudyError:
        raise
    except (ValidationError, ValueError, KeyError, TypeError, csv.Error) as error:
        said = _fault(error) if isinstance(error, ValidationError) else error
        raise StudyError(f"{path}, line {len(rows) + 2}: {said}") from error
    return rows


def text_of(path: Path) -> str:
    """The text of a file; StudyError if it cannot be read or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8: {error.reason}") from error


def _fault(error: ValidationError) -> str:
    """The first thing that is wrong, and where."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'as a whole'}: {first['msg']}"


def make_private(path: Path) -> None:
    """Have a file that nobody but its owner can read, before anything stands in it."""
    path.touch(mode=0o600)
    path.chmod(0o600)
