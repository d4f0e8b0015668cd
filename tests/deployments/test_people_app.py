"""The web app of a study: permissions, saved answers, and private data that no response contains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deployments.people.app import create_app
from deployments.people.site import Site, answers
from tasks.people.study import ANSWERS, PeopleAnswer, read_rows, write_rows
from tests.people.conftest import SECRETS, folder_path

__all__ = ["folder_path"]  # a fixture
ORIGIN = "http://testserver"
FORM = {"content-type": "application/x-www-form-urlencoded"}


class Person:
    """One person's browser."""

    def __init__(self, app: Any, token: str = "") -> None:
        self.browser = TestClient(app, base_url=ORIGIN, follow_redirects=True)
        self.seen: list[str] = []
        self.csrf = ""
        if token:
            self.get(f"/enter/{token}")
            self.post(f"/enter/{token}")

    def get(self, path: str) -> Any:
        return self._read(self.browser.get(path))

    def post(self, path: str, **fields: str) -> Any:
        sent = {name.replace("__", "."): value for name, value in fields.items()}
        return self._read(self.browser.post(path, data={"csrf": self.csrf, **sent}))

    def _read(self, response: Any) -> Any:
        self.seen.append(f"{response.headers} {response.text}")
        if secret := re.search(r'name="csrf" value="([^"]+)"', response.text):
            self.csrf = secret[1]
        return response

    def begun(self) -> Person:
        """Give consent and open the first page."""
        assert self.post("/consent").status_code == 200
        return self.at(1)

    def at(self, place: int) -> Person:
        assert self.get(f"/item/{place}").status_code == 200
        return self


@pytest.fixture
def site(folder_path: Path) -> Iterator[Site]:
    app = create_app(folder_path, ORIGIN)
    site: Site = app.state.site
    site.app = app  # type: ignore[attr-defined]
    yield site
    site.store.close()


def person(site: Site, annotator: str = "p0", role: Any = "annotator", language: str = "en") -> Person:
    return Person(site.app, site.store.invite(annotator, role, language))  # type: ignore[attr-defined]


def place_of(site: Site, annotator: str, item: str) -> int:
    return next(p for p, a in site.own[annotator].items() if a.item == item)


def without_secrets(text: str) -> str:
    """Return the text without sessions and tokens, whose random letters may spell any code."""
    return re.sub(r"[\w-]{20,}", "", text)


def full(site: Site, who: Person, annotator: str) -> None:
    """Fill in every page, as a browser without scripts does."""
    for place, each in site.own[annotator].items():
        if each.item == "about_you":
            response = who.post(f"/item/{place}", region="asia", note="<script>alert(1)</script>", go="next")
        else:
            marks = {f"fits__{n}": "yes" for n in range(3)} | {f"order__{n}": str(n + 1) for n in range(3)}
            response = who.post(f"/item/{place}", **marks, liking="4", recipe="Boil.", go="next")
        assert response.status_code == 200, response.text


def test_answers_of_a_whole_study_are_saved(site: Site, tmp_path: Path) -> None:
    who = person(site).begun()
    full(site, who, "p0")
    assert "C0DE" in who.get("/done").text
    rows = answers(site.folder, site.store)
    assert {row.status for row in rows} == {"complete"}
    ranked = [row for row in rows if row.field == "order"]
    assert [row.value for row in ranked] == [{"rice": "1", "salt": "2", "tofu": "3"}] * 3
    assert all(sorted(row.shown) == ["rice", "salt", "tofu"] for row in ranked)
    assert all(row.started <= row.saved for row in rows)
    write_rows(tmp_path / ANSWERS, rows)
    assert read_rows(tmp_path / ANSWERS, PeopleAnswer) == rows


def test_no_response_contains_private_data(site: Site) -> None:
    who, lead = person(site).begun(), person(site, "boss", "lead")
    full(site, who, "p0")
    pages = ("", "consent", "guide", "pause", "done", "withdraw", "item/1", "progress", "item/99")
    for page in pages:
        who.get(f"/{page}")
        lead.get(f"/{page}")
    for file in ("private.jsonl", "static/../private.jsonl", "static/%2e%2e/answers.sqlite", "items.jsonl"):
        assert who.get(f"/{file}").status_code == 404
    everything = "\n".join(who.seen + lead.seen)
    assert not [secret for secret in SECRETS if secret in everything]
    assert "p1" not in without_secrets("\n".join(who.seen))


def test_each_save_of_a_field_is_a_revision(site: Site) -> None:
    who = person(site).begun()
    place = place_of(site, "p0", "check")
    who.at(place)
    for value in ("3", "3", "4"):
        response = who.post(f"/save/{place}/liking", liking=value)
        assert (response.status_code, response.text) == (200, "Saved")
    assert [(r.value, r.revision) for r in answers(site.folder, site.store)] == [("3", 1), ("4", 2)]
    twice = who.post(f"/save/{place}/order", order__0="1", order__1="1")
    assert "only once" in twice.text
    (order,) = (row for row in answers(site.folder, site.store) if row.field == "order")
    assert (order.status, order.value) == ("draft", {"rice": "1", "salt": "1"})
    assert 'value="4" checked' in who.get(f"/item/{place}").text


def test_incomplete_page_is_shown_again(site: Site) -> None:
    who = person(site).begun()
    response = who.post("/item/1", liking="2", go="next")
    assert 'value="2" checked' in response.text
    assert "/pause" in str(who.post("/item/1", liking="2", go="pause").url)
    assert who.get("/done").url.path == "/item/1"


def test_link_works_once_and_a_new_link_ends_the_old_session(site: Site) -> None:
    token = site.store.invite("p0", "annotator", "en")
    first = Person(site.app, token).begun()  # type: ignore[attr-defined]
    again = Person(site.app, token)  # type: ignore[attr-defined]
    assert again.get("/").status_code == 401
    assert first.get("/item/1").status_code == 200
    second = person(site)
    assert second.get("/item/1").status_code == 200
    assert first.get("/item/1").status_code == 401
    stored = (Path(site.store._connection.execute("PRAGMA database_list").fetchone()[2])).read_bytes()
    assert token.encode() not in stored
    assert first.browser.cookies["session"].encode() not in stored


def test_answers_need_consent_and_withdrawal_deletes_them(site: Site) -> None:
    who = person(site)
    assert who.get("/item/1").status_code == 403
    assert who.post("/save/1/liking", liking="2").status_code == 403
    who.get("/consent")
    who.begun().post("/item/1", liking="2", recipe="unmistakable words")
    assert answers(site.folder, site.store)
    assert "withdrawn" in who.post("/withdraw").text
    assert not answers(site.folder, site.store)
    for path in ("/item/1", "/done"):
        assert "withdrawn" in who.get(path).text or who.get(path).status_code == 403
    assert who.post("/item/1", liking="2").status_code == 403
    assert who.post("/consent").status_code == 403
    folder = Path(site.store._connection.execute("PRAGMA database_list").fetchone()[2]).parent
    assert not [f for f in folder.glob("answers.sqlite*") if b"unmistakable words" in f.read_bytes()]
    assert [p["withdrawn"] is not None for p in site.store.people()] == [True]


def test_invalid_requests_are_refused_with_their_status(site: Site) -> None:
    who = person(site).begun()
    cases: list[tuple[str, dict[str, str], int]] = [
        ("/item/99", {"liking": "2"}, 404),
        ("/item/-1", {"liking": "2"}, 404),
        ("/item/x", {"liking": "2"}, 422),
        ("/save/1/region", {"region": "asia"}, 404),
        ("/save/1/liking", {"liking": "6"}, 422),
        ("/save/1/order", {"order__0": "9"}, 422),
        ("/save/1/recipe", {"recipe": "x" * 5000}, 422),
        ("/save/1/recipe", {"recipe": "x" * 200_000}, 413),
        ("/save/1/recipe", {"recipe": "a\0b"}, 422),
        ("/item/1", {"csrf": "wrong", "liking": "2"}, 403),
        ("/item/1", {"csrf": "", "liking": "2"}, 403),
        ("/progress", {}, 405),
    ]
    for path, fields, status in cases:
        assert who.post(path, **fields).status_code == status, path
    assert not answers(site.folder, site.store)


def test_requests_from_other_sites_and_in_other_formats_are_refused(site: Site) -> None:
    who, other = person(site).begun(), person(site, "p1").begun()
    origins = ({"origin": origin} for origin in ("https://evil.example", "null"))
    fetched = ({"sec-fetch-site": fetched_from} for fetched_from in ("cross-site", "same-site"))
    for headers in (*origins, *fetched):
        sent = who.browser.post("/item/1", data={"csrf": who.csrf, "liking": "2"}, headers=headers)
        assert sent.status_code == 403
    assert who.browser.post("/item/1", data={"csrf": other.csrf, "liking": "2"}).status_code == 403
    assert who.browser.post("/item/1", json={"csrf": who.csrf}).status_code == 415
    doubled = f"csrf={who.csrf}&liking=1&liking=2"
    assert who.browser.post("/item/1", content=doubled, headers=FORM).status_code == 400
    assert who.browser.post("/item/1", content=b"\xff=1", headers=FORM).status_code == 400
    assert who.browser.get("/", headers={"host": "evil.example"}).status_code == 400
    assert not answers(site.folder, site.store)


def test_free_text_is_escaped_and_pages_forbid_scripts(site: Site) -> None:
    who = person(site).begun()
    attack = "</textarea><script>alert(1)</script>"
    who.post("/save/1/recipe", recipe=attack)
    page = who.get("/item/1")
    assert "<script>alert" not in page.text
    assert "&lt;/textarea&gt;" in page.text
    assert "'unsafe" not in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "same-origin"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.search(r"\son\w+=|style=|javascript:|//[a-z]", page.text)


def test_pages_require_their_role(site: Site) -> None:
    annotator, lead = person(site).begun(), person(site, "boss", "lead")
    reviewer = person(site, "p2", "reviewer")
    assert annotator.get("/progress").status_code == 403
    assert "p2" in lead.get("/progress").text
    reviewer.get("/consent")
    assert reviewer.post("/consent").status_code == 200
    assert reviewer.get("/item/1").status_code == 403  # assigned to p2, but as an annotator


def test_prolific_participant_takes_one_free_place(site: Site) -> None:
    site.store.invite("p0", "annotator", "en")
    visitor = Person(site.app)  # type: ignore[attr-defined]
    page = visitor.get('/join?PROLIFIC_PID=abc123&STUDY_ID="><script>&SESSION_ID=s')
    assert "<script>" not in page.text
    assert visitor.post("/join", PROLIFIC_PID="abc123", lang="en").status_code == 200
    assert visitor.get("/consent").status_code == 200
    for participant in ("abc123", "other"):
        late = Person(site.app)  # type: ignore[attr-defined]
        assert late.post("/join", PROLIFIC_PID=participant, lang="en").status_code == 403
    assert late.post("/join", PROLIFIC_PID="<b>", lang="en").status_code == 400
    assert "abc123" not in "".join(row.model_dump_json() for row in answers(site.folder, site.store))


def test_pages_have_the_language_and_direction_of_the_person(site: Site) -> None:
    directions = {"en": "ltr", "ar": "rtl", "he": "rtl", "ko": "ltr"}
    for n, (language, direction) in enumerate(directions.items()):
        page = person(site, f"p{n}", language=language).begun().get("/item/1")
        assert f'<html lang="{language}" dir="{direction}">' in page.text


def test_interface_texts_exist_in_every_language() -> None:
    from deployments.people.pages import interface

    assert interface().keys() == {"en", "zh", "ar", "ko", "ru", "he"}
    for language, texts in interface().items():
        assert texts.keys() == interface()["en"].keys(), language
        assert all(texts.values())
        assert "{n}" in texts["progress"]
        assert "{of}" in texts["progress"]


def test_every_control_has_a_label_for_screen_readers(site: Site) -> None:
    page = person(site).begun().get("/item/1").text
    ids = set(re.findall(r'id="([^"]+)"', page))
    assert len(ids) == len(re.findall(r' id="', page))
    for select in re.findall(r'<select id="([^"]+)"', page):
        assert f'<label for="{select}"' in page
    referred = " ".join(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', page)).split()
    assert referred
    assert set(referred) <= ids
