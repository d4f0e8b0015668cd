"""Studies of every kind as folders without a warehouse, served on a local port."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from deployments.people.app import create_app
from deployments.people.site import Site
from deployments.people.studies import KINDS
from deployments.serve.server import free_port
from tasks.evaluations.explication.interview import FIELDS, Turns
from tasks.people.assignment import Person, assign
from tasks.people.study import (
    ASSIGNMENTS,
    ITEMS,
    PRIVATE,
    STUDY,
    FormPage,
    PeopleItem,
    Private,
    read_study,
    write_assignments,
    write_rows,
)

SECRETS = ("model-of-secrets", "hidden-condition", "outside-code", "author-of-secrets")
LONG = "Rice with saffron, which grandmother cooked on feast days; nobody wrote it down. "
WORDS = {"ar": "أرز بالزعفران كانت جدتي تطبخه في الأعياد ", "he": "אורז עם זעפרן שסבתא בישלה בחגים "}


class Asks:
    """An interviewer that needs no model."""

    def reply(self, turns: Turns, language: str) -> str:
        return f"<b>Why?</b> {LONG}"

    def draft(self, turns: Turns, language: str) -> dict[str, str]:
        return dict.fromkeys(FIELDS, LONG) | {"country": "GB"}


def pages_of(kind: str) -> str:
    """Return the text of a kind of study; verdicts on answers are yes and no."""
    menu = '[{ value = "yes", label = "Yes" }, { value = "no", label = "No" }]'
    text = (KINDS / f"{kind}.toml").read_text(encoding="utf-8")
    return text.replace("@name@", "fits").replace("@options@", menu).replace("@is_ordered@", "false")


def folder_of(kind: str, folder: Path, n_people: int = 2, n_items: int = 2, languages: str = "en") -> Path:
    """Write a study of a kind with invented items, `n_people` people per language, and no answers."""
    shipped = pages_of(kind)
    codes = languages.split()
    head = f'name = "s"\nkind = "{kind}"\nlanguages = {json.dumps(codes)}\nannotators_per_item = {n_people}\n'
    folder.mkdir(parents=True)
    (folder / STUDY).write_text(head + shipped, encoding="utf-8")
    study = read_study(folder / STUDY)
    role = study.pages[0].role
    of = {language: [p for p in study.pages if p.per == "item"] for language in codes}
    items = [
        PeopleItem(
            item=f"i{language}{n}", page=page.name, language=language, content=_content(page, language, n)
        )
        for language, pages in of.items() for page in pages for n in range(n_items)
    ]  # fmt: skip
    hidden = dict(zip(("model", "condition", "code", "author"), SECRETS, strict=True))
    private = [Private(item=item.item, **hidden) for item in items]  # type: ignore[arg-type]
    people = [Person(f"{language}{n}", role, language) for language in codes for n in range(n_people)]
    write_rows(folder / ITEMS, items)
    write_rows(folder / PRIVATE, private)
    write_assignments(folder / ASSIGNMENTS, assign(study, items, {p.item: p for p in private}, people))
    return folder


def _content(page: FormPage, language: str, n: int) -> dict[str, str | list[str]]:
    words = WORDS.get(language, LONG)
    content: dict[str, str | list[str]] = {shown.name: f"{n} {words * 3}" for shown in page.shows}
    for field in page.fields:
        if field.of:
            listed = [f"{words} {m}" for m in range(3)]
            content[field.of] = listed if field.kind == "marks" else f"{n} {words}"[: field.max_chars]
    return content


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Site, str]]:
    """Serve the app on a free port in a thread; yield the site and its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    app = create_app(folder, address, Asks())
    server = uvicorn.Server(uvicorn.Config(app, port=port, access_log=False, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield app.state.site, address
    finally:
        server.should_exit = True
        thread.join()
        app.state.site.store.close()
