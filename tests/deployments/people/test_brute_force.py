"""Guesses of links, sessions and form secrets are limited; the limit does not affect other people.

Links, sessions and form secrets have at least 192 bits, so the limit only protects the machine's load.
"""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deployments.people.site import Site
from tests.deployments.test_people_app import ORIGIN, Person, folder_path, person, site

__all__ = ["folder_path", "site"]  # fixtures

BURST = 150


@pytest.fixture(name="clock", autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only the test moves."""
    time = [0.0]
    monkeypatch.setattr("deployments.people.site.time.monotonic", lambda: time[0])
    return time


def stranger(site: Site, address: str = "10.0.0.1", session: str = "") -> TestClient:
    app: Any = site.app  # type: ignore[attr-defined]
    return TestClient(app, base_url=ORIGIN, client=(address, 1), cookies={"session": session})


def test_tokens_have_at_least_192_bits(site: Site) -> None:
    token = site.store.invite("p0", "annotator", "en")
    who = Person(site.app, token)  # type: ignore[attr-defined]
    for secret in (token, who.browser.cookies["session"], who.csrf or (who.get("/consent") and who.csrf)):
        assert len(base64.urlsafe_b64decode(secret + "==")) >= 24


@pytest.mark.parametrize("path", ["/enter/{}", "/join"])
def test_guesses_of_links_are_limited(site: Site, clock: list[float], path: str) -> None:
    token = site.store.invite("p0", "annotator", "en")
    guesser = stranger(site)
    codes = Counter(guesser.post(path.format(f"guess-{n}")).status_code for n in range(BURST + 50))
    assert codes[429] == 50
    assert sum(codes.values()) == BURST + 50
    assert set(codes) <= {403, 415, 400, 429}
    assert guesser.post(f"/enter/{token}").status_code == 429, "the right token too"
    assert stranger(site, "10.0.0.2").post(f"/enter/{token}").status_code in (200, 303)
    clock[0] += 10
    assert [guesser.post(path.format("x")).status_code for _ in range(11)].count(429) == 1


def test_guesses_of_sessions_are_limited_and_valid_sessions_go_on(site: Site) -> None:
    who = person(site, "p0").begun()
    own = who.browser.cookies["session"]
    codes = Counter(
        stranger(site, "testclient", f"guess-{n}").get(f"/item/{n % 3}").status_code
        for n in range(BURST + 50)
    )
    assert codes == {401: BURST, 429: 50}
    assert who.get("/item/1").status_code == 200
    assert stranger(site, "testclient", own).get("/item/1").status_code == 200, "behind the same address"


def test_guesses_of_form_secrets_are_limited(site: Site) -> None:
    who = person(site, "p0").begun()
    secret, codes = who.csrf, Counter[int]()
    for n in range(100):
        who.csrf = f"guess-{n}"
        codes[who.post("/withdraw").status_code] += 1
    assert set(codes) == {403, 429}
    assert codes[403] <= 60
    assert secret not in "".join(who.seen[-100:])
    assert site.store.who(who.browser.cookies["session"]).withdrawn is None  # type: ignore[union-attr]
