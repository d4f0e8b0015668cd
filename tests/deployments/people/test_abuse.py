"""Over 200 mangled or forged requests are refused or stored as plain text; no other answers change."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.testclient import TestClient

from deployments.people.site import Site, answers
from tests.deployments.people.served import Asks
from tests.deployments.test_people_app import (
    FORM,
    ORIGIN,
    Person,
    folder_path,
    person,
    place_of,
    site,
    without_secrets,
)
from tests.people.conftest import SECRETS

__all__ = ["folder_path", "site"]  # fixtures

HOSTILE = (
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    "\"' onfocus=alert(1) autofocus='",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% include 'x' %}",
    "'; DROP TABLE answer; --",
    "\u202egnp.exe\u2066",
    "%00%0d%0aSet-Cookie: session=x",
    "\r\nX-Forged: 1",
    "../../private.jsonl",
    "a" * 4000,
    "\ud7ff\ufffd\U0001f4a3",
)
"""Free texts that are stored and shown as text."""
NAMES = ("", "x", "rec ipe", "recipe.0", "fits.99", "order.-1", "csrf.0", "__class__", "go", "fits.0.1")
PATHS = [
    "/private.jsonl", "/items.jsonl", "/assignments.csv", "/answers.sqlite", "/study.toml", "/.env", "/docs",
    "/openapi.json", "/static/..%2fprivate.jsonl", "/static/%2e%2e/private.jsonl", "/static/people.py",
    "/static//etc/passwd", "/enter/", "/enter/..%2f", "/item/", "/item/0", "/item/-1", "/item/1.5",
    "/item/%00", "/item/1/", "/item/١", "//evil.example", "/save/1/recipe", "/save/1", "/talk/1/recipe",
    "/progress", "/\\evil", f"/item/{10**20}", "/" + "a" * 5000,
]  # fmt: skip
METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "XYZ")


def stored(site: Site) -> list[tuple[str, str, Any]]:
    return [(row.annotator, row.field, row.value) for row in answers(site.folder, site.store)]


def test_forged_and_mangled_requests_change_nothing(site: Site) -> None:
    victim, who = person(site, "p1").begun(), person(site, "p0").begun()
    place = place_of(site, "p1", "check")
    victim.at(place).post(f"/save/{place}/liking", liking="3")
    before = stored(site)
    kept = who.browser.cookies["session"]
    sent: list[Any] = []
    site.requests._rate = 1e9  # the limit of requests has its own test

    def send(method: str, path: str, **how: Any) -> None:
        sent.append(who.browser.request(method, path, **how))

    own = {"csrf": who.csrf}
    for path in PATHS:
        send("GET", path)
        send("POST", path, data={**own, "recipe": "x", "liking": "2"} if "1" not in path else {"csrf": "no"})
    for method, path in product(METHODS, ("/", "/item/1", "/save/1/liking", "/withdraw")):
        send(method, path, data={**own, "liking": "2"} if method in ("PUT", "PATCH") else None)
    for secret in ("", "x", victim.csrf, who.csrf[:-1], who.csrf + "x", who.csrf.swapcase(), "\0", "ü"):
        for path in ("/item/1", "/save/1/liking", "/consent", "/withdraw"):
            send("POST", path, data={"csrf": secret, "liking": "2"})
    evil = ("https://evil.example", "null", ORIGIN + ".evil.example", "http://testserver:81", "file://")
    for origin in evil:
        for path in ("/item/1", "/withdraw"):
            send("POST", path, data={**own, "liking": "2"}, headers={"origin": origin})
    for value in ("0", "6", "-1", "2.0", " 2", "２", "true", "null", "[]", '{"a":1}', "2,3", "x" * 300):
        send("POST", "/save/1/liking", data={**own, "liking": value})
        send("POST", "/save/1/order", data={**own, "order.0": value})
        send("POST", "/save/1/fits", data={**own, "fits.0": value})
        if not value.strip()[:1].isdecimal():  # 2.0 reads as a page of this person
            send("POST", f"/save/{quote(value)}/liking", data={**own, "liking": "2"})
    form = FORM["content-type"]
    bodies = {
        b"": "text/plain",
        b"{}": "application/json",
        b"<a/>": "text/xml",
        b"--x": "multipart/form-data",
        b"csrf=%ff": form,
        b"\xff\xfe": form,
        b"&" * 5000: form,
        b"a=1&" * 1000: form,
        b"csrf=" + b"a" * 300_000: form,
        f"csrf={quote(who.csrf)}&liking=1&liking=2".encode(): form,
        f"csrf={quote(who.csrf)}&csrf=x&liking=1".encode(): form,
    }
    for body, kind in bodies.items():
        for path in ("/item/1", "/save/1/recipe"):
            send("POST", path, content=body, headers={"content-type": kind})
    for session in ("", "x", kept[:-1], kept.upper(), "' OR 1=1 --", "a" * 4000):
        stranger = TestClient(who.browser.app, base_url=ORIGIN, cookies={"session": session})
        sent.append(stranger.get("/item/1"))
        sent.append(stranger.post("/save/1/liking", data={**own, "liking": "2"}))
    for token in ("x", "' OR ''='", kept, "%00", "a" * 3000):
        send("POST", f"/enter/{quote(token)}")
    for host in ("evil.example", "testserver.evil.example", "", "127.0.0.1"):
        send("GET", "/item/1", headers={"host": host})
    who.browser.cookies.clear()
    who.browser.cookies.set("session", kept)

    assert len(sent) > 200
    refused = [reply for reply in sent if reply.status_code >= 400]
    assert not [reply for reply in sent if reply.status_code >= 500]
    # Requests that are not refused only show a page.
    harmless = {(r.request.method, r.url.path) for r in sent if r.status_code < 400}
    assert {method for method, _ in harmless} <= {"GET", "HEAD"}, harmless
    assert len(refused) > 180
    assert stored(site) == before
    everything = "\n".join(f"{reply.headers} {reply.text}" for reply in sent)
    assert not [secret for secret in SECRETS if secret in everything]
    assert "p1" not in without_secrets(everything).replace("p1.", "")
    assert who.get("/item/1").status_code == victim.get(f"/item/{place}").status_code == 200


def test_hostile_texts_are_stored_and_escaped(site: Site) -> None:
    who = person(site).begun()
    for text in HOSTILE:
        content = urlencode({"csrf": who.csrf, "recipe": text})
        sent = who.browser.post("/save/1/recipe", content=content, headers=FORM)
        page = who.get("/item/1")
        assert "x-forged" not in sent.headers
        for tag in ("<script>alert", "<img", "' onfocus", ">49<"):  # random tokens may contain 49
            assert tag not in page.text
        recipes = [value for _, field, value in stored(site) if field == "recipe"]
        assert recipes[-1] == text.replace("\r\n", "\n")


def test_unknown_fields_are_not_stored(site: Site) -> None:
    who = person(site).begun()
    for name in NAMES:
        who.browser.post("/item/1", data={"csrf": who.csrf, name: "2"} if name != "csrf" else {})
        assert not [value for _, _, value in stored(site) if value not in ("", {})]
        gone = who.browser.post(f"/save/1/{quote(name) or 'x'}", data={"csrf": who.csrf})
        assert gone.status_code == 404, name


def test_hostile_items_are_escaped(folder_path: Path) -> None:
    """Items contain text of models, so they may contain anything."""
    from deployments.people.app import create_app

    attack = "<script>alert(1)</script>{{ 7 * 7 }}"
    path = folder_path / "items.jsonl"
    path.write_text(path.read_text().replace('"rice"', json.dumps(attack)).replace("dish i", f"{attack} i"))
    assigned = folder_path / "assignments.csv"
    quoted = json.dumps(attack).replace('"', '""')
    assigned.write_text(assigned.read_text().replace('""rice""', quoted))
    app = create_app(folder_path, ORIGIN, Asks())
    site: Site = app.state.site
    who = Person(app, site.store.invite("p0", "annotator", "en")).begun()
    pages = [who.get(f"/item/{place}").text for place in site.own["p0"]]
    site.store.close()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}" in "".join(pages)
    assert "<script>alert" not in "".join(pages)
