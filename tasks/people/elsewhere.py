"""Studies that run in another program: what each person sees there, and the answers read back. Pure.

Another program has one form per project, so a study becomes one project per page and language. All pages that
a person sees once become one form. The other program gets nothing of the private file, not even the names of
items.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tasks.data import PlacedRow, TableError
from tasks.data import rows as table
from tasks.identity import digest
from tasks.parsing import parse_json
from tasks.people.answers import latest
from tasks.people.study import (
    WITH_ENTRIES,
    Assignment,
    FormField,
    FormPage,
    PeopleAnswer,
    PeopleItem,
    PeopleStudy,
    StudyError,
    StudyFolder,
    in_language,
    read_value,
    text_of,
)

MANIFEST = "culturemeter.json"
"""File in an export's folder that names its study and program."""


@dataclass(frozen=True)
class PersonForm:
    """A form for one person: an assigned item, or all pages that they see once."""

    assigned: tuple[tuple[Assignment, PeopleItem], ...]

    @property
    def annotator(self) -> str:
        return self.assigned[0][0].annotator

    @property
    def name(self) -> str:
        """Return person and first place, such as "p001.3": all that the other program knows of the task."""
        return f"{self.annotator}.{self.assigned[0][0].place}"

    def of(self, page: FormPage) -> tuple[Assignment, PeopleItem]:
        """Return the assignment on that page, and its item."""
        return next((a, item) for a, item in self.assigned if item.page == page.name)

    def slots(self, page: FormPage, field: FormField, language: str) -> list[tuple[str, str]]:
        """Return (entry, text) for each thing to rank or mark, in this person's order."""
        assignment, item = self.of(page)
        names = {option.value: in_language(option.label, language) for option in field.rows or field.options}
        order = assignment.shown.get(field.name) or field.entries(item)
        return [(entry, entry if field.of else names[entry]) for entry in order]

    def text(self, page: FormPage, part: str) -> str:
        """Return a part of the item's content, one line per entry of a list."""
        content = self.of(page)[1].content.get(part, "")
        return content if isinstance(content, str) else "\n".join(content)


@dataclass(frozen=True)
class Form:
    """One project of another program."""

    name: str
    language: str
    pages: tuple[FormPage, ...]
    tasks: tuple[PersonForm, ...]

    @property
    def fields(self) -> list[tuple[FormPage, FormField]]:
        return [(page, field) for page in self.pages for field in page.fields]

    def data(self, task: PersonForm, entry: Callable[[int, str], Any]) -> dict[str, Any]:
        """Return the content of a task: ``of_<field>`` is ranked, marked or edited, ``shown_<part>`` is read.

        Args:
            entry: turns a place, from 1, and a text into the program's form of an entry.
        """
        data: dict[str, Any] = {}
        for page, field in self.fields:
            if field.kind in WITH_ENTRIES:
                slots = task.slots(page, field, self.language)
                data[f"of_{field.name}"] = [entry(n, text) for n, (_, text) in enumerate(slots, start=1)]
            elif field.kind == "edit":
                data[f"of_{field.name}"] = task.text(page, field.of)
        parts = [(page, part.name) for page in self.pages for part in page.shows]
        return data | {f"shown_{name}": task.text(page, name) for page, name in parts}

    def intro(self) -> str:
        """Return the text above the form."""
        texts = [in_language(each, self.language) for page in self.pages for each in (page.title, page.text)]
        return "\n\n".join(text for text in texts if text)

    def menu(self, page: FormPage, field: FormField) -> dict[str, str]:
        """Return the menu, value -> label: options, points of a scale, or ranks of the longest list.

        Raises:
            StudyError: two options have the same label in this language, so their answers would be
                indistinguishable.
        """
        if field.kind == "likert":
            return {str(n): str(n) for n in range(1, field.points + 1)}
        if field.kind == "ranking":
            longest = max((len(field.entries(task.of(page)[1])) for task in self.tasks), default=0)
            return {str(n): str(n) for n in range(1, longest + 1)}
        menu = {option.value: in_language(option.label, self.language) for option in field.options}
        if len(set(menu.values())) < len(menu):
            raise StudyError(f"field {field.name}: two options have the same label in {self.language!r}")
        return menu


@dataclass(frozen=True)
class Response:
    """One person's value for one field of a task. shown: the order of options, if the program records it."""

    task: PersonForm
    page: FormPage
    field: FormField
    value: Any
    started: datetime
    saved: datetime
    shown: list[str] | None = None


@dataclass(frozen=True)
class SurveyProgram:
    """Another program that can run a study.

    Attributes:
        version: version that the projects were tried with.
        project: the files of a form's project, name -> text; the last argument: the sentence by which a
            person agrees to take part.
        output: pattern of the JSON files in a project that hold the answers.
        read: returns the responses in one of these files, from the form, the path and the parsed content.
        if_none: advice if there is no such file; "": no file means that nobody has answered yet.
    """

    name: str
    title: str
    version: str
    project: Callable[[PeopleStudy, Form, str], dict[str, str]]
    output: str
    read: Callable[[Form, Path, Any], Iterable[Response]]
    if_none: str = ""


def write_projects(
    program: SurveyProgram, folder: StudyFolder, out: Path, agree: Mapping[str, str]
) -> list[str]:
    """Write a project for each form below an empty folder; returns their names.

    Args: agree: language -> the sentence by which a person agrees to take part.

    Raises:
        StudyError: see ``forms``.
    """
    projects = {
        form.name: program.project(folder.study, form, in_language(agree, form.language))
        for form in forms(folder)
    }
    for name, files in projects.items():
        (out / name).mkdir()
        for file, text in files.items():
            (out / name / file).write_text(text, encoding="utf-8")
    about = {"study": folder.study.name, "tool": program.name, "asked": _asked(folder)}
    (out / MANIFEST).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return list(projects)


def read_projects(program: SurveyProgram, folder: StudyFolder, out: Path) -> list[PeopleAnswer]:
    """Return the answers so far, each as revision 1. Logins and addresses are not read.

    Raises:
        StudyError: the output is missing or unreadable, or has a value that the form does not offer.
    """
    responses: list[Response] = []
    known = forms(folder)
    paths = [(form, path) for form in known for path in sorted((out / form.name).glob(program.output))]
    if program.if_none and not paths:
        raise StudyError(f"no {program.output} in {out}/{known[0].name}: {program.if_none}")
    for form, path in paths:
        content = read_json(path)
        try:
            responses += program.read(form, path, content)
        except StudyError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OSError, OverflowError) as error:
            reason = f"not in the format of {program.title} {program.version}: {error!r}"
            raise StudyError(f"{path}: {reason}") from error
    return answers(responses, folder, program.name, program.version)


def forms(folder: StudyFolder) -> list[Form]:
    """Return the projects for the other program, by name.

    Raises:
        StudyError: a page has an interview, which no other program can run.
    """
    study = folder.study
    chats = [field.name for field in study.fields if field.kind == "chat"]
    if chats:
        raise StudyError(
            f"study {study.name}: {chats[0]} is an interview, which no other program can run: use people "
            "serve"
        )
    by_form: dict[tuple[str, str], dict[str, list[tuple[Assignment, PeopleItem]]]] = defaultdict(dict)
    for each in sorted(folder.assignments, key=lambda a: (a.annotator, a.place)):
        item = folder.items[each.item]
        is_once = study.page(item.page).per == "person"
        # Pages per person are one task; each item is one task.
        key, task = (each.role, each.annotator) if is_once else (item.page, f"{each.annotator}.{each.place}")
        by_form[f"{key}-once" if is_once else key, each.language].setdefault(task, []).append((each, item))
    rows = []
    for (name, language), tasks in sorted(by_form.items()):
        wanted = {item.page for assigned in tasks.values() for _, item in assigned}
        pages = tuple(page for page in study.pages if page.name in wanted)
        rows.append(
            Form(f"{name}-{language}", language, pages, tuple(map(PersonForm, map(tuple, tasks.values()))))
        )
    return rows


def answers(
    responses: Iterable[Response], folder: StudyFolder, tool: str, version: str
) -> list[PeopleAnswer]:
    """Return the responses as answers in the neutral format, each as revision 1.

    An unchanged text to edit counts as an answer if its task has another answer, since programs store nothing
    for it.

    Raises:
        StudyError: a value that the form does not offer.
    """
    by_task: dict[str, list[Response]] = defaultdict(list)
    for each in responses:
        by_task[each.task.name].append(each)
    for own in by_task.values():
        task, names = own[0].task, {each.field.name for each in own}
        started, saved = min(each.started for each in own), max(each.saved for each in own)
        pages = [folder.study.page(item.page) for _, item in task.assigned]
        own += [
            Response(task, page, field, task.text(page, field.of), started, saved)
            for page in pages
            for field in page.fields
            if field.kind == "edit" and field.name not in names
        ]
    rows = (_answer(each, folder, tool, version) for own in by_task.values() for each in own)
    return sorted(rows, key=_place)


def _answer(response: Response, folder: StudyFolder, tool: str, version: str) -> PeopleAnswer:
    assignment, item = response.task.of(response.page)
    field, value = response.field, response.value
    if field.kind == "ranking":
        # The menu has the ranks of the longest list; a rank too high for this list is invalid.
        n = len(field.entries(item))
        value = {entry: rank for entry, rank in value.items() if not rank.isdecimal() or int(rank) <= n}
    try:
        entry = read_value(field, item, value)
    except ValueError as error:
        raise StudyError(f"{tool}, {response.task.name}: {error}") from error
    order = assignment.shown.get(field.name, []) if field.kind in WITH_ENTRIES else list(field.shown(item))
    return PeopleAnswer(
        study_hash=folder.study.hash,
        item=item.item,
        item_hash=item.hash,
        annotator=response.task.annotator,
        field=field.name,
        value=entry.value,
        shown=response.shown or order,
        started=min(response.started, response.saved),
        saved=response.saved,
        revision=1,
        status="complete" if entry.is_complete else "draft",
        tool=tool,
        version=version,
    )


def with_known(known: Sequence[PeopleAnswer], pulled: Iterable[PeopleAnswer]) -> list[PeopleAnswer]:
    """Return the answers of earlier pulls, and this pull's new answers as further revisions."""
    last = latest(known)
    rows = list(known)
    for answer in pulled:
        before = last.get((answer.annotator, answer.item, answer.field))
        if before is None:
            rows.append(answer)
        elif (before.value, before.status) != (answer.value, answer.status):
            rows.append(answer.model_copy(update={"revision": before.revision + 1}))
    return sorted(rows, key=_place)


def _place(answer: PeopleAnswer) -> tuple[str, str, str, int]:
    return answer.annotator, answer.item, answer.field, answer.revision


def exported_for(folder: StudyFolder, out: Path) -> str:
    """Return the program that an export is for.

    Raises:
        StudyError: there is no export, it is of another study, or the study was changed afterwards.
    """
    about = read_json(out / MANIFEST)
    if not isinstance(about, Mapping) or (about.get("study"), about.get("asked")) != (
        folder.study.name,
        _asked(folder),
    ):
        raise StudyError(
            f"{out} is an export of another study, or {folder.study.name} was changed after the export"
        )
    return str(about.get("tool"))


def read_json(path: Path) -> Any:
    """Return parsed JSON. Raises StudyError if the file is missing or not JSON."""
    try:
        return parse_json(text_of(path))
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(f"{path}: not JSON in UTF-8: {error}") from error


def _asked(folder: StudyFolder) -> str:
    """Return a hash of all that people see and its order."""
    items = sorted((item.item, item.hash) for item in folder.items.values())
    return digest([folder.study.hash, items, [each.model_dump() for each in folder.assignments]], 16)


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


def _of_row(folder: StudyFolder, row: PlacedRow) -> Iterator[PeopleAnswer]:
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
