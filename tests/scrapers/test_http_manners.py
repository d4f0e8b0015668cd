"""Every request names a contact, waits for its host, and is sent again only as its server asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest

from scrapers.http import PoliteSession, retry_after, user_agent
from scrapers.model import ScrapeError, TransientError
from tests.scrapers.conftest import Clock, OpenSession
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


def test_server_sees_the_pause_between_any_two_requests(
    web: MisbehavingServer, open_session: OpenSession
) -> None:
    web.replies["/page"] = [Reply(302, headers={"Location": "/there"})]
    web.replies["/there"] = [Reply(429, headers={"Retry-After": "0"}), Reply(body=b"x", manner="slow")]
    session = open_session(pause_s=0.2)
    session.get(web.url("/page"))
    session.get(web.url("/page"))
    paths = ["/robots.txt", "/page", "/there", "/there", "/page", "/there"]
    assert [seen.path for seen in web.requests] == paths
    assert min(later.at - earlier.at for earlier, later in pairwise(web.requests)) >= 0.2


def test_request_to_another_host_does_not_wait(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/page"] = [Reply(body=b"x")]
    session = open_session(pause_s=100)
    session.get(web.url("/page"))
    session.get(web.url("/page", host="localhost"))
    # For each host: robots.txt, pause, page.
    assert [round(slept, -1) for slept in clock.slept] == [100, 100]


def test_pages_share_one_connection(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(body=b"x", headers={"ETag": '"1"'})]
    session = open_session()
    for _ in range(3):
        session.get(web.url("/page"))
    # robots.txt is a 404 whose body is not read: its connection is not reused.
    assert len({seen.connection for seen in web.asked("/page")}) == 1


def test_threads_send_one_request_at_a_time(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/robots.txt"] = [Reply(404, manner="slow")]
    web.replies["/page"] = [Reply(body=b"x", manner="slow")]
    session = open_session()
    with ThreadPoolExecutor(4) as threads:
        pages = list(threads.map(lambda _: session.get(web.url("/page")), range(8)))
    assert [page.content for page in pages] == [b"x"] * 8
    assert (web.most_at_once, len(web.asked("/robots.txt"))) == (1, 1)


NOW = datetime(2015, 10, 21, 7, 28, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_transient_status_is_retried(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock, status: int
) -> None:
    web.replies["/page"] = [Reply(status), Reply(body=b"x")]
    assert open_session().get(web.url("/page")).content == b"x"
    assert clock.slept == [1]


def test_retries_are_limited_and_waits_double(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/page"] = [Reply(503)]
    with pytest.raises(TransientError, match="/page answers with status 503") as caught:
        open_session(retries=3).get(web.url("/page"))
    assert caught.value.retry_after is None
    assert (len(web.asked("/page")), clock.slept) == (4, [1, 2, 4])


def test_retry_after_is_waited_for(web: MisbehavingServer, open_session: OpenSession, clock: Clock) -> None:
    web.replies["/page"] = [Reply(429, headers={"Retry-After": "77"}), Reply(body=b"x")]
    assert open_session().get(web.url("/page")).content == b"x"
    assert clock.slept == [77]


def test_wait_beyond_the_deadline_is_not_started(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/page"] = [Reply(429, headers={"Retry-After": "601"})]
    with pytest.raises(TransientError, match="status 429 and asks to wait 601 s") as caught:
        open_session(deadline_s=600).get(web.url("/page"))
    assert (caught.value.retry_after, clock.slept, len(web.asked("/page"))) == (601, [], 1)


def test_deadline_covers_all_requests_and_pauses_of_a_session(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/page"] = [Reply(body=b"x")]
    session = open_session(deadline_s=25, pause_s=10)
    # 10 s after robots.txt, 10 s after the first page; a third pause would end beyond 25 s.
    session.get(web.url("/page"))
    session.get(web.url("/page"))
    with pytest.raises(TransientError, match="the 25 s of this session are over"):
        session.get(web.url("/page"))
    assert (len(web.asked("/page")), len(clock.slept)) == (2, 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("\u0661", None),
        ("0", 0),
        (" 120 ", 120),
        ("Wed, 21 Oct 2015 07:29:30 GMT", 90),
        ("Wednesday, 21-Oct-15 07:29:30 GMT", 90),
        ("Wed Oct 21 07:29:30 2015", 90),
        ("Wed, 21 Oct 2015 09:29:30 +0200", 90),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0),
        ("Wed, 41 Oct 2015 07:27:00 GMT", None),
    ],
)
def test_retry_after_header_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds
