"""Retries: their statuses, their waits and their limits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scrapers.http import retry_after
from scrapers.model import TransientError
from tests.scrapers.conftest import Clock, OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply

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
