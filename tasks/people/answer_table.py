"""Answers of people that were collected in a table: a row for each person and item. Pure but for the file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from tasks.data import Row, TableError
from tasks.data import rows as table
from tasks.people.study import PeopleAnswer, StudyError, StudyFolder, read_value

COLUMNS = ("person", "item")


def answers_in(folder: StudyFolder, path: Path) -> list[PeopleAnswer]:
    """Return the answers in a table with the columns ``person``, ``item`` and one for each field of a page.

    person: a code. item: of items.jsonl. A field's column has its name, or the name after the page's. Empty
    cells are no answers. Nobody knows how long people took, so none counts as too fast.

    Raises:
        StudyError: the file is no table, or a row has an unknown item, a wrong code, no answer, or a value
            that its field does not allow; the message names the row.
    """
    try:
        return [answer for row in table(path, needed=COLUMNS) for answer in _of_row(folder, row)]
    except (TableError, ValueError) as error:
        raise StudyError(f"{path}: {error}") from error


def _of_row(folder: StudyFolder, row: Row) -> Iterator[PeopleAnswer]:
    cells = {name: str(cell or "").strip() for name, cell in row.cells.items()}
    person, code = (cells[name] for name in COLUMNS)
    item = folder.items.get(code)
    if not person or item is None:
        raise ValueError(f"{row.place}: " + (f"this study has no item {code!r}" if person else "no person"))
    saved, n = datetime.now(UTC), 0
    for field in folder.study.page(item.page).fields:
        cell = cells.get(field.name) or cells.get(field.name.removeprefix(f"{item.page}_"))
        if not cell:
            continue
        try:
            entry = read_value(field, item, cell)
        except ValueError as error:
            raise ValueError(f"{row.place}: {error}") from error
        n += 1
        yield PeopleAnswer(
            study_hash=folder.study.hash, item=item.item, item_hash=item.hash, annotator=person,
            field=field.name, value=entry.value, shown=[],
            started=saved - timedelta(seconds=folder.study.min_seconds), saved=saved, revision=1,
            status="complete" if entry.is_complete else "draft", tool="table",
            version=version("culturemeter"),
        )  # fmt: skip
    if not n:
        fields = ", ".join(field.name for field in folder.study.page(item.page).fields)
        raise ValueError(f"{row.place}: no answer in a column of the item's page: {fields}")
