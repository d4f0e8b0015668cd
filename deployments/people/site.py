"""A study that is being served: what it may show, its database, and what each person may send and do.

A page belongs to one person: its address is its place in their assignment, never an item.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Protocol
from urllib.parse import parse_qsl

from starlette.requests import Request

from deployments.people import pages
from deployments.people.store import Saved, StudyStore, Who
from tasks.evaluations.explication.interview import INTERVIEWER, PERSON, Turns
from tasks.people.answers import beyond_quota, quotas
from tasks.people.study import (
    Assignment,
    Entry,
    FormPage,
    PeopleAnswer,
    PeopleItem,
    StudyFolder,
    read_folder,
    read_value,
)

MAX_BODY = 128 * 1024
"""Most bytes of a form: enough for several free texts of the greatest length."""
MAX_FIELDS = 400
BODY_PATIENCE_S = 60.0
"""Seconds within which a form must arrive: long enough for a phone on a train."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Under "no-referrer" a browser sends forms with the origin "null", which is refused here.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request is refused, with an HTTP status and a text for programs."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class RateLimit:
    """Limits requests per key: ``burst`` at once, ``per_second`` in the long run. Forgets the oldest keys."""

    def __init__(self, per_second: float, burst: int, most_keys: int = 10_000) -> None:
        self._rate, self._burst, self._most = per_second, float(burst), most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Count one request. Raises RefusedError if the key has used up its allowance."""
        now = time.monotonic()
        left, since = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._buckets[key] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        if left < 1:
            raise RefusedError(429, "too many requests: wait a moment")


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        RefusedError: too large, too slow, not a form, not UTF-8, or a field occurs twice.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise RefusedError(415, "expected a form")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_PATIENCE_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise RefusedError(413, "the form is too large")
    except TimeoutError:
        raise RefusedError(408, "the form did not arrive: send it again") from None
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise RefusedError(400, "the form cannot be read") from error
    form = dict(pairs)
    if len(form) < len(pairs):
        raise RefusedError(400, "a field occurs twice")
    return form


def check_origin(request: Request, origin: str) -> None:
    """Refuse a form that another site sent, where the browser says so (Origin, Sec-Fetch-Site)."""
    sender = request.headers.get("origin")
    if sender is not None and sender != origin:
        raise RefusedError(403, "sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(403, "sent from another site")


def check_csrf(who: Who, form: Mapping[str, str]) -> None:
    """Refuse a form without the secret that only pages of this session hold."""
    if not hmac.compare_digest(form.get("csrf", "").encode(), who.csrf.encode()):
        raise RefusedError(403, "the page is out of date: open it again")


TOOL = "culturemeter"
COOKIE = "session"

MOST_TURNS = 120
"""Most turns of both sides of an interview."""

FormData = dict[str, str]


class Interviewer(Protocol):
    """Asks the questions of an interview. Neither method raises an exception."""

    def reply(self, turns: Turns, language: str) -> str:
        """Return the next question, or "" if there is none now."""
        ...

    def draft(self, turns: Turns, language: str) -> dict[str, str]:
        """Return the texts of the next page after the interview: field -> text."""
        ...


@dataclass(frozen=True)
class Own:
    """An assigned page of the person whose session it is."""

    who: Who
    assignment: Assignment
    item: PeopleItem
    page: FormPage


class Site:
    """A study that is being served: what it may show, its database, and what each person may do."""

    def __init__(self, folder: Path, origin: str, interviewer: Interviewer | None = None) -> None:
        """Open the study and its database.

        Raises:
            StudyError: the folder is broken, or a reviewer is assigned an item of their own.
            ValueError: the study is an interview, and there is no interviewer.
        """
        self.folder: StudyFolder = replace(read_folder(folder), private={})
        self.study = self.folder.study
        self.filled = {field.fills for field in self.study.fields if field.fills}
        if interviewer is None and any(field.kind == "chat" for field in self.study.fields):
            raise ValueError(
                f"study {self.study.name} is an interview: name the model that interviews with --engine"
            )
        self.interviewer = interviewer
        self.store = StudyStore(folder)
        self.origin = origin
        self.own: dict[str, dict[int, Assignment]] = {}
        for each in self.folder.assignments:
            self.own.setdefault(each.annotator, {})[each.place] = each
        self.talking: dict[str, Lock] = {}
        self.requests = RateLimit(per_second=10, burst=60)
        self.entries = RateLimit(per_second=1, burst=150)
        self.strangers = RateLimit(per_second=1, burst=150)

    def who(self, request: Request) -> Who:
        """Return the person of the request. Raises RefusedError if there is none, or after too many requests.

        Somebody who guesses sessions slows down only people without a session behind the same address.
        """
        secret = request.cookies.get(COOKIE, "")
        who = self.store.who(secret) if secret else None
        if who is None:
            self.strangers.take(request.client.host if request.client else "")
            raise RefusedError(401, "open the link that you were given, in the browser that you used before")
        self.requests.take(who.annotator)
        return who

    def page(self, who: Who, place: int) -> Own:
        """Return a page.

        Raises RefusedError if it is not theirs, not for their role, or they do not take part.
        """
        if who.withdrawn or not who.consented:
            raise RefusedError(403, "consent comes first")
        assignment = self.own.get(who.annotator, {}).get(place)
        if assignment is None:
            raise RefusedError(404, "there is no such page")
        item = self.folder.items[assignment.item]
        if item.item in self.filled:
            content = item.content | self.store.given(who.annotator, item.item)
            item = item.model_copy(update={"content": content})
        page = self.study.page(item.page)
        if not page.role == assignment.role == who.role:
            raise RefusedError(403, "this page is not for your role")
        return Own(who, assignment, item, page)

    def save(self, own: Own, form: FormData, field_name: str | None = None) -> dict[str, str]:
        """Save one field, or all fields of the form; returns field -> what is missing.

        Raises:
            RefusedError: an unknown field, or a value that our pages never send; nothing is saved.
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

    def has_no_place(self, own: Own) -> bool:
        """Return whether the quota of the person's choice on this page was full before they chose."""
        return any(
            own.who.annotator in beyond_quota(self.folder, field, self.store.choices(item, field.name))
            for item, field in quotas(self.folder)
            if item == own.item.item
        )

    def talk(self, own: Own, field_name: str, text: str, is_over: bool) -> None:
        """Take one turn of a chat: save the person's text, then add the interviewer's reply, or end the chat.

        An empty text requests a missing reply again. At the end the interviewer drafts the texts of the page
        that the chat fills; if it fails, that form is empty.

        Raises:
            RefusedError: the page has no such chat, the chat is over, or the text is too long or empty.
        """
        field = next((f for f in own.page.fields if f.name == field_name and f.kind == "chat"), None)
        if field is None or self.interviewer is None:
            raise RefusedError(404, "there is no such field")
        annotator, language, key = own.who.annotator, own.who.language, (own.item.item, field_name)
        with self.talking.setdefault(annotator, Lock()):
            state = self.store.saved(annotator).get(key)
            turns = pages.turns_of(state)
            if (state and state.status == "complete") or (len(turns) >= MOST_TURNS and not is_over):
                raise RefusedError(409, "the interview is over")
            if len(text) > field.max_chars or "\0" in text or (is_over and not (turns or text)):
                raise RefusedError(422, "this page does not send that")
            if text:
                turns.append((PERSON, text.replace("\r\n", "\n")))
                self._keep(own, field_name, turns, is_over)
            if is_over:
                if field.fills:
                    self.store.give(annotator, field.fills, self.interviewer.draft(turns, language))
                self._keep(own, field_name, turns, is_over)
            elif turns and turns[-1][0] == PERSON:
                reply = self.interviewer.reply(turns, language)
                if reply:
                    self._keep(own, field_name, [*turns, (INTERVIEWER, reply)], is_over)

    def _keep(self, own: Own, field: str, turns: Turns, is_over: bool) -> None:
        value = json.dumps([list(turn) for turn in turns], ensure_ascii=False)
        entry = Entry(value=value, missing="" if is_over else "incomplete")
        try:
            self.store.save(own.who.annotator, own.item.item, field, entry)
        except PermissionError as error:
            raise RefusedError(403, "consent comes first") from error

    def first_open(self, who: Who, saved: dict[tuple[str, str], Saved]) -> int | None:
        """Return the place of the first incomplete page; None if all are complete."""
        places = sorted(self.own.get(who.annotator, {}))
        return next((place for place in places if self._lacks(who, place, saved)), None)

    def n_complete(self, who: Who, saved: dict[tuple[str, str], Saved]) -> tuple[int, int]:
        """Return (complete pages, all pages)."""
        places = self.own.get(who.annotator, {})
        return sum(not self._lacks(who, place, saved) for place in places), len(places)

    def _lacks(self, who: Who, place: int, saved: dict[tuple[str, str], Saved]) -> bool:
        item = self.folder.items[self.own[who.annotator][place].item]
        page = self.study.page(item.page)
        is_new = not any((item.item, field.name) in saved for field in page.fields)
        return bool(pages.missing(page, item, saved)) or is_new


def answers(folder: StudyFolder, store: StudyStore) -> list[PeopleAnswer]:
    """Return every saved revision in the neutral format. People who withdrew have none."""
    orders = {(a.annotator, a.item): a.shown for a in folder.assignments}
    fixed = {"study_hash": folder.study.hash, "tool": TOOL, "version": version("culturemeter")}
    rows = []
    for row in store.revisions():
        order = orders.get((row["annotator"], row["item"]), {}).get(row["field"], [])
        about = {"item_hash": folder.items[row["item"]].hash, "shown": order}
        rows.append(PeopleAnswer.model_validate(row | fixed | about))
    return rows
