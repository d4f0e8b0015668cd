"""Live requests need a contact, and every request has it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from scrapers.http import PoliteSession, user_agent
from scrapers.model import ScrapeError
from tests.scrapers.conftest import OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply


@pytest.mark.parametrize(
    "contact", ["someone@example.org", "https://example.org/~someone?about=bots", "http://example.org"]
)
def test_user_agent_has_program_version_and_contact(contact: str) -> None:
    assert user_agent(contact) == f"culturemeter/{version('culturemeter')} (+{contact})"


@pytest.mark.parametrize(
    "contact",
    [
        None, "", "  ", "someone", "some one@example.org", "someone@localhost", "ftp://example.org",
        "https://someone:secret@example.org/", "someone@example.org\n",
        "someone@example.org\r\nX-Injected: 1", "a@example.org) (b", "sömeone@example.org",
        "a@example.org\x01",
    ],
)  # fmt: skip
def test_invalid_contact_is_refused(contact: str | None) -> None:
    with pytest.raises(ScrapeError, match="set CULTUREMETER_CONTACT to your e-mail address or a page"):
        user_agent(contact)


def test_every_request_has_the_user_agent(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(body=b"x")]
    open_session().get(web.url("/page"))
    assert [seen.path for seen in web.requests] == ["/robots.txt", "/page"]
    assert {seen.headers["User-Agent"] for seen in web.requests} == {user_agent("someone@example.org")}


def test_pause_below_one_second_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a second or more"):
        PoliteSession(user_agent("someone@example.org"), tmp_path, pause_s=0.99)
