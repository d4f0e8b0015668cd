"""robots.txt by RFC 9309: the group that applies, the rule that wins, and sites that are closed."""

from __future__ import annotations

import httpx
import pytest

from scrapers.http import _MAX_ROBOTS_BYTES as MAX_BYTES
from scrapers.http import _Robots as Robots
from scrapers.model import ScrapeError, TransientError
from tests.scrapers.conftest import Clock, OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply

CLOSED = Reply(body=b"User-agent: *\nDisallow: /closed/\nAllow: /closed/but-open\n")


def _open(rules: str, path: str) -> bool:
    try:
        Robots(rules.encode()).require(httpx.URL(f"https://example.org{path}"))
    except ScrapeError:
        return False
    return True


@pytest.mark.parametrize(
    ("rules", "path", "is_open"),
    [
        ("", "/a", True),
        ("<html>not found</html>", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("\ufeffUser-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        # Only the group of our own agent counts, in any place and case; split groups are merged.
        ("User-agent: *\nDisallow: /\n\nUser-agent: CultureMeter\nDisallow: /b", "/a", True),
        ("User-agent: culturemeter\nDisallow: /a\n\nUser-agent: *\nAllow: /", "/a", False),
        ("User-agent: other\nUser-agent: culturemeter\nDisallow: /a", "/a", False),
        ("User-agent: culturemeter\nAllow: /x\n\nUser-agent: culturemeter\nDisallow: /a", "/a", False),
        ("User-agent: otherbot\nDisallow: /", "/a", True),
        # The longest rule wins, not the first; for equal lengths Allow.
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        # * and $.
        ("User-agent: *\nDisallow: /*.json$", "/x/y.json", False),
        ("User-agent: *\nDisallow: /*.json$", "/x/y.json?q=1", True),
        ("User-agent: *\nDisallow: /w/*action=", "/w/index.php?title=a&action=edit", False),
        ("User-agent: *\nDisallow: /caf%C3%A9", "/caf%c3%a9", False),
    ],
)
def test_robots_rules(rules: str, path: str, is_open: bool) -> None:
    assert _open(rules, path) is is_open


def test_disallowed_address_is_not_requested(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/robots.txt"] = [CLOSED]
    web.replies["/closed/but-open"] = [Reply(body=b"x")]
    session = open_session()
    assert session.get(web.url("/closed/but-open")).content == b"x"
    with pytest.raises(ScrapeError, match=r"/closed/page: robots\.txt closes this address"):
        session.get(web.url("/closed/page"))
    assert not web.asked("/closed/page")
    assert len(web.asked("/robots.txt")) == 1, "once per session"


@pytest.mark.parametrize("status", [401, 404])
def test_no_robots_txt_means_open(web: MisbehavingServer, open_session: OpenSession, status: int) -> None:
    web.replies["/robots.txt"], web.replies["/page"] = [Reply(status)], [Reply(body=b"x")]
    assert open_session().get(web.url("/page")).content == b"x"


@pytest.mark.parametrize(
    "broken",
    [Reply(500), Reply(503), Reply(429), Reply(manner="reset"), Reply(body=b"User", manner="truncated")],
    ids=["500", "503", "429", "reset", "truncated"],
)
def test_site_is_closed_while_its_robots_txt_fails(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock, broken: Reply
) -> None:
    web.replies["/robots.txt"], web.replies["/page"] = [broken], [Reply(body=b"x")]
    with pytest.raises(TransientError, match=r"is closed to programs while its robots\.txt cannot be read"):
        open_session(retries=2).get(web.url("/page"))
    assert (len(web.asked("/robots.txt")), len(web.asked("/page"))) == (3, 0)


@pytest.mark.parametrize("status", [204, 505])
def test_site_is_closed_if_its_robots_txt_has_another_status(
    web: MisbehavingServer, open_session: OpenSession, status: int
) -> None:
    web.replies["/robots.txt"], web.replies["/page"] = [Reply(status)], [Reply(body=b"x")]
    with pytest.raises(ScrapeError, match=f"closed to programs.*status {status}"):
        open_session().get(web.url("/page"))
    assert not web.asked("/page")


def test_failure_of_robots_txt_is_not_cached(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/robots.txt"], web.replies["/page"] = [Reply(503), Reply(404)], [Reply(body=b"x")]
    session = open_session(retries=0)
    with pytest.raises(TransientError, match="closed"):
        session.get(web.url("/page"))
    assert session.get(web.url("/page")).content == b"x"


def test_robots_txt_may_redirect_on_its_host(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/robots.txt"] = [Reply(301, headers={"Location": "/moved"})]
    web.replies["/moved"] = [CLOSED]
    with pytest.raises(ScrapeError, match="closes this address"):
        open_session().get(web.url("/closed/page"))


def test_redirect_to_a_disallowed_address_is_refused(
    web: MisbehavingServer, open_session: OpenSession
) -> None:
    web.replies["/robots.txt"] = [CLOSED]
    web.replies["/page"] = [Reply(302, headers={"Location": "/closed/page"})]
    with pytest.raises(ScrapeError, match="closes this address"):
        open_session().get(web.url("/page"))
    assert not web.asked("/closed/page")


@pytest.mark.parametrize(
    ("delay", "pause_s", "expected"), [("7.5", 2, 7.5), ("1", 2, 2), ("60", 2, 60), ("soon", 2, 2)]
)
def test_crawl_delay_lengthens_the_pause(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock, delay: str, pause_s: float,
    expected: float,
) -> None:  # fmt: skip
    web.replies["/robots.txt"] = [Reply(body=f"User-agent: *\nCrawl-delay: {delay}\n".encode())]
    web.replies["/page"] = [Reply(body=b"x")]
    session = open_session(pause_s=pause_s)
    session.get(web.url("/page"))
    session.get(web.url("/page"))
    # A pause before each page, also the first one after robots.txt. A little real time passes.
    assert len(clock.slept) == 2
    assert all(expected - 0.5 < slept <= expected for slept in clock.slept)


def test_crawl_delay_above_60_s_is_refused(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/robots.txt"] = [Reply(body=b"User-agent: culturemeter\nCrawl-delay: 61\n")]
    with pytest.raises(ScrapeError, match=r"asks for 61 s between requests, over 60 s"):
        open_session().get(web.url("/page"))
    assert (web.asked("/page"), clock.slept) == ([], [])


def test_rules_beyond_the_size_limit_are_ignored() -> None:
    comment = b"#" + b" " * MAX_BYTES + b"\n"
    closing = b"User-agent: *\nDisallow: /\n"
    Robots(comment + closing).require(httpx.URL("https://example.org/a"))
    with pytest.raises(ScrapeError, match="closes this address"):
        Robots(closing + comment).require(httpx.URL("https://example.org/a"))
