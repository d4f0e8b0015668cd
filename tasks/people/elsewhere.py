"""Studies that are asked in another program: what each person is shown there, and what comes back. Pure.

Another program has one form per project, so a study becomes one project per page and language, and all
pages that a person has once become one form together. It is told nothing of the private file, not even the
names of items.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tasks.identity import digest
from tasks.parsing import parse_json
from tasks.people.answers import latest
from tasks.people.files import Answer, Assignment, Folder, StudyError, text_of
from tasks.people.study import WITH_ENTRIES, FormField, Item, Page, in_language, read_value

MANIFEST = "culturescope.json"
"""In the folder of an export: which study it is of, and for which program."""


@dataclass(frozen=True)
class Task:
    """What one person sees at once: an assigned item, or all pages that they have once.

    ``name``: the person and the first place, such as "p001.3"; it is all that the other program knows of it.
    """

    name: str
    annotator: str
    assigned: tuple[tuple[Assignment, Item], ...]

    def of(self, page: Page) -> tuple[Assignment, Item]:
        """What is assigned on that page."""
        return next((a, item) for a, item in self.assigned if item.page == page.name)

    def slots(self, page: Page, field: FormField, language: str) -> list[tuple[str, str]]:
        """(entry, text) of what is ranked or marked, in this person's order."""
        assignment, item = self.of(page)
        names = {option.value: in_language(option.label, language) for option in field.rows or field.options}
        order = assignment.shown.get(field.name) or field.entries(item)
        return [(entry, entry if field.of else names[entry]) for entry in order]

    def text(self, page: Page, part: str) -> str:
        """A part of the item's content; entries of a list are lines."""
        content = self.of(page)[1].content.get(part, "")
        return content if isinstance(content, str) else "\n".join(content)


@dataclass(frozen=True)
class Form:
    """One project of another program."""

    name: str
    language: str
    pages: tuple[Page, ...]
    tasks: tuple[Task, ...]

    @property
    def fields(self) -> list[tuple[Page, FormField]]:
        return [(page, field) for page in self.pages for field in page.fields]

    def intro(self) -> str:
        """What stands above the form."""
        texts = [in_language(each, self.language) for page in self.pages for each in (page.title, page.text)]
        return "\n\n".join(text for text in texts if text)

    def menu(self, page: Page, field: FormField) -> dict[str, str]:
        """Value -> what is shown of it: options, points of a scale, or ranks of the longest list.

        Raises:
            StudyError: two options read the same in this language, so that answers could not be told apart.
        """
        if field.kind == "likert":
            return {str(n): str(n) for n in range(1, field.points + 1)}
        if field.kind == "ranking":
            longest = max((len(field.entries(task.of(page)[1])) for task in self.tasks), default=0)
            return {str(n): str(n) for n in range(1, longest + 1)}
        menu = {option.value: in_language(option.label, self.language) for option in field.options}
        if len(set(menu.values())) < len(menu):
            raise StudyError(f"field {field.name}: two options read the same in {self.language!r}")
        return menu


@dataclass(frozen=True)
class Given:
    """What one person gave for one field of a task. shown: the order of options, where the program says."""

    task: Task
    page: Page
    field: FormField
    value: Any
    started: datetime
    saved: datetime
    shown: list[str] | None = None


def forms(folder: Folder) -> list[Form]:
    """What the other program is asked to show, by name.

    Raises:
        StudyError: a page has a talk with an interviewer, which no other program holds.
    """
    study = folder.study
    chats = [field.name for field in study.fields if field.kind == "chat"]
    if chats:
        raise StudyError(
            f"study {study.name}: {chats[0]} is a talk, which no other program holds: use people serve"
        )
    by_form: dict[tuple[str, str], dict[str, list[tuple[Assignment, Item]]]] = defaultdict(dict)
    for each in sorted(folder.assignments, key=lambda a: (a.annotator, a.place)):
        item = folder.items[each.item]
        is_once = study.page(item.page).per == "person"
        # A person's own pages are one task, an item is one each.
        key, task = (each.role, each.annotator) if is_once else (item.page, f"{each.annotator}.{each.place}")
        by_form[f"{key}-once" if is_once else key, each.language].setdefault(task, []).append((each, item))
    rows = []
    for (name, language), tasks in sorted(by_form.items()):
        wanted = {item.page for assigned in tasks.values() for _, item in assigned}
        own = [_task(assigned) for assigned in tasks.values()]
        pages = tuple(page for page in study.pages if page.name in wanted)
        rows.append(Form(f"{name}-{language}", language, pages, tuple(own)))
    return rows


def _task(assigned: Sequence[tuple[Assignment, Item]]) -> Task:
    first = assigned[0][0]
    return Task(f"{first.annotator}.{first.place}", first.annotator, tuple(assigned))


def answers(given: Iterable[Given], folder: Folder, tool: str, version: str) -> list[Answer]:
    """Answers of the neutral format, each as revision 1.

    An edited text that was left as it was counts as given where its task has another answer: programs store
    nothing then.

    Raises:
        StudyError: a value that the form does not offer.
    """
    rows, by_task = [], defaultdict(list)
    for each in given:
        by_task[each.task.name].append(each)
        rows.append(each)
    for own in by_task.values():
        task, said = own[0].task, {each.field.name for each in own}
        for _, item in task.assigned:
            page = folder.study.page(item.page)
            for field in page.fields:
                if field.kind == "edit" and field.name not in said:
                    text = task.text(page, field.of)
                    started, saved = min(e.started for e in own), max(e.saved for e in own)
                    rows.append(Given(task, page, field, text, started, saved))
    return sorted((_answer(each, folder, tool, version) for each in rows), key=_place)


def _answer(given: Given, folder: Folder, tool: str, version: str) -> Answer:
    assignment, item = given.task.of(given.page)
    field, value = given.field, given.value
    if field.kind == "ranking":
        # The menu has the ranks of the longest list, so that one too high says nothing of this one.
        n = len(field.entries(item))
        value = {entry: rank for entry, rank in value.items() if not rank.isdecimal() or int(rank) <= n}
    try:
        entry = read_value(field, item, value)
    except ValueError as error:
        raise StudyError(f"{tool}, {given.task.name}: {error}") from error
    order = assignment.shown.get(field.name, []) if field.kind in WITH_ENTRIES else list(field.shown(item))
    return Answer(
        study_hash=folder.study.hash,
        item=item.item,
        item_hash=item.hash,
        annotator=given.task.annotator,
        field=field.name,
        value=entry.value,
        shown=given.shown or order,
        started=min(given.started, given.saved),
        saved=given.saved,
        revision=1,
        status="complete" if entry.is_complete else "draft",
        tool=tool,
        version=version,
    )


def with_known(known: Sequence[Answer], pulled: Iterable[Answer]) -> list[Answer]:
    """The answers of earlier pulls, and of this one what is new, as further revisions."""
    last = latest(known)
    rows = list(known)
    for answer in pulled:
        before = last.get((answer.annotator, answer.item, answer.field))
        if before is None:
            rows.append(answer)
        elif (before.value, before.status) != (answer.value, answer.status):
            rows.append(answer.model_copy(update={"revision": before.revision + 1}))
    return sorted(rows, key=_place)


def _place(answer: Answer) -> tuple[str, str, str, int]:
    return answer.annotator, answer.item, answer.field, answer.revision


def write_manifest(folder: Folder, out: Path, tool: str) -> None:
    """Say of which study and for which program an export is."""
    about = {"study": folder.study.name, "tool": tool, "asked": _asked(folder)}
    (out / MANIFEST).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def exported_for(folder: Folder, out: Path) -> str:
    """The program that an export is for.

    Raises:
        StudyError: no export, or of another study, or the study was changed since.
    """
    about = read_json(out / MANIFEST)
    if not isinstance(about, Mapping) or (about.get("study"), about.get("asked")) != (
        folder.study.name,
        _asked(folder),
    ):
        raise StudyError(f"{out} is an export of another study, or {folder.study.name} was changed since")
    return str(about.get("tool"))


def read_json(path: Path) -> Any:
    """Raises StudyError: the file is not there or is no JSON."""
    try:
        return parse_json(text_of(path))
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(f"{path}: not JSON in UTF-8: {error}") from error


def _asked(folder: Folder) -> str:
    """Identifies all that people are shown, and in which order."""
    items = sorted((item.item, item.hash) for item in folder.items.values())
    return digest([folder.study.hash, items, [each.model_dump() for each in folder.assignments]], 16)
