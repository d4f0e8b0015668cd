"""A study as it is served: what may be shown, the database, and who may do what.

Pages are a person's own: addressed by their place in the assignment, never by item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from deployments.people import pages
from deployments.people.access import RateLimit, RefusedError
from deployments.people.store import Saved, Store, Who
from tasks.people.files import Answer, Assignment, Folder, read_folder
from tasks.people.study import Item, Page, read_value

if TYPE_CHECKING:
    from fastapi import Request

TOOL = "culturescope"
COOKIE = "session"

Form = dict[str, str]


@dataclass(frozen=True)
class Own:
    """One assigned page of the person of a session."""

    who: Who
    assignment: Assignment
    item: Item
    page: Page


class Site:
    """A study as it is served: what may be shown, the database, and who may do what."""

    def __init__(self, folder: Path, origin: str) -> None:
        """Raises StudyError: the folder is broken, or a reviewer is assigned an item of their own."""
        self.folder: Folder = replace(read_folder(folder), private={})
        self.study = self.folder.study
        self.store = Store(folder)
        self.origin = origin
        self.own: dict[str, dict[int, Assignment]] = {}
        for each in self.folder.assignments:
            self.own.setdefault(each.annotator, {})[each.place] = each
        self.requests = RateLimit(per_second=10, burst=60)
        self.entries = RateLimit(per_second=1, burst=150)

    def who(self, request: Request) -> Who:
        """The person of the request. Raises RefusedError where there is none or they ask too often."""
        secret = request.cookies.get(COOKIE, "")
        who = self.store.who(secret) if secret else None
        if who is None:
            raise RefusedError(401, "open the link that you were given, in the browser that you used before")
        self.requests.take(who.annotator)
        return who

    def page(self, who: Who, place: int) -> Own:
        """Raises RefusedError: not assigned to them, not of their role, or they do not take part."""
        if who.withdrawn or not who.consented:
            raise RefusedError(403, "consent comes first")
        assignment = self.own.get(who.annotator, {}).get(place)
        if assignment is None:
            raise RefusedError(404, "there is no such page")
        item = self.folder.items[assignment.item]
        page = self.study.page(item.page)
        if not page.role == assignment.role == who.role:
            raise RefusedError(403, "not a page of your role")
        return Own(who, assignment, item, page)

    def save(self, own: Own, form: Form, field_name: str | None = None) -> dict[str, str]:
        """Save one field, or all that the form has; field -> what is missing.

        Raises:
            RefusedError: no field of the page, or a value that no page of ours sends; nothing of it is saved.
        """
        fields = [f for f in own.page.fields if field_name in (None, f.name)]
        if not fields:
            raise RefusedError(404, "there is no such field")
        read = {}
        for field in fields:
            value = pages.given(field, own.item, form)
            if value is not None:
                try:
                    read[field.name] = read_value(field, own.item, value)
                except ValueError as error:
                    raise RefusedError(422, "this page does not send that") from error
        for name, entry in read.items():
            try:
                self.store.save(own.who.annotator, own.item.item, name, entry)
            except PermissionError as error:
                raise RefusedError(403, "consent comes first") from error
        return {name: entry.missing for name, entry in read.items() if entry.missing}

    def first_open(self, who: Who, saved: dict[tuple[str, str], Saved]) -> int | None:
        """The place of the first page that lacks something; None if all are complete."""
        places = sorted(self.own.get(who.annotator, {}))
        return next((place for place in places if self._lacks(who, place, saved)), None)

    def n_complete(self, who: Who, saved: dict[tuple[str, str], Saved]) -> tuple[int, int]:
        """(pages complete, pages)"""
        places = self.own.get(who.annotator, {})
        return sum(not self._lacks(who, place, saved) for place in places), len(places)

    def _lacks(self, who: Who, place: int, saved: dict[tuple[str, str], Saved]) -> bool:
        item = self.folder.items[self.own[who.annotator][place].item]
        page = self.study.page(item.page)
        is_new = not any((item.item, field.name) in saved for field in page.fields)
        return bool(pages.missing(page, item, saved)) or is_new


def answers(folder: Folder, store: Store) -> list[Answer]:
    """Every saved revision as the neutral format has it; of people who withdrew there is none."""
    shown = {(a.annotator, a.item): a.shown for a in folder.assignments}
    fixed = {"study_hash": folder.study.hash, "tool": TOOL, "version": version("culturescope")}
    rows = []
    for row in store.revisions():
        order = shown.get((row["annotator"], row["item"]), {}).get(row["field"], [])
        about = {"item_hash": folder.items[row["item"]].hash, "shown": order}
        rows.append(Answer.model_validate(row | fixed | about))
    return rows
