"""Bodies that are whole, compressed, cut off, endless or too large, and statuses that are final."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from scrapers import http
from scrapers.model import ScrapeError, TransientError
from tests.scrapers.conftest import Clock, OpenSession
from tests.scrapers.misbehaving_server import Manner, MisbehavingServer, Reply


def test_page_has_raw_bytes_and_the_headers_type_and_charset(
    web: MisbehavingServer, open_session: OpenSession
) -> None:
    body = "Ünïcode".encode()
    web.replies["/page?q=1"] = [Reply(body=body, headers={"Content-Type": "Text/HTML; charset=ISO-8859-1"})]
    page = open_session().get(web.url("/page?q=1#part"))
    # The header is wrong. The session reports it and leaves the bytes unchanged; parsers decide.
    assert (page.content, page.content_type, page.charset) == (body, "text/html", "iso-8859-1")
    assert (page.url, page.from_cache) == (web.url("/page?q=1"), False)


def test_page_without_content_type_has_content_type_none(
    web: MisbehavingServer, open_session: OpenSession
) -> None:
    web.replies["/page"] = [Reply(body=b"x")]
    page = open_session().get(web.url("/page"))
    assert (page.content_type, page.charset) == ("", None)


def test_gzip_is_requested_and_decoded(web: MisbehavingServer, open_session: OpenSession) -> None:
    # Two members, as RFC 1952 allows.
    web.replies["/page"] = [
        Reply(body=gzip.compress(b"one ") + gzip.compress(b"two"), headers={"Content-Encoding": "gzip"})
    ]
    assert open_session().get(web.url("/page")).content == b"one two"
    assert web.asked("/page")[0].headers["Accept-Encoding"] == "gzip"


def test_other_content_encoding_is_refused(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(body=b"x", headers={"Content-Encoding": "br"})]
    with pytest.raises(ScrapeError, match="encoding 'br'"):
        open_session().get(web.url("/page"))


@pytest.mark.parametrize("status", [401, 403, 404, 410, 418, 451, 204, 206, 501, 304])
def test_final_statuses_are_not_retried(
    web: MisbehavingServer, open_session: OpenSession, status: int
) -> None:
    web.replies["/page"] = [Reply(status)]
    with pytest.raises(ScrapeError, match=rf"/page answers with status {status}: \w+") as caught:
        open_session().get(web.url("/page"))
    assert not isinstance(caught.value, TransientError)
    assert len(web.asked("/page")) == 1


_HALF_GZIP = gzip.compress(bytes(range(256)) * 9)[:-20]


@pytest.mark.parametrize(
    "broken",
    [
        Reply(body=b"half a pa", manner="truncated"),
        Reply(body=_HALF_GZIP, manner="close", headers={"Content-Encoding": "gzip"}),
        Reply(body=b"no gzip at all", headers={"Content-Encoding": "gzip"}),
        Reply(manner="reset"),
    ],
    ids=["truncated", "truncated gzip", "damaged gzip", "reset"],
)
def test_broken_answers_are_retried_and_not_stored(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock, tmp_path: Path, broken: Reply
) -> None:
    web.replies["/once"] = [broken, Reply(body=b"whole", headers={"ETag": '"1"'})]
    web.replies["/always"] = [
        Reply(broken.status, broken.body, {**broken.headers, "ETag": '"2"'}, broken.manner)
    ]
    session = open_session(retries=1)
    with pytest.raises(TransientError, match="/always"):
        session.get(web.url("/always"))
    assert not list((tmp_path / "cache").glob("*")), "an incomplete body was stored"
    assert session.get(web.url("/once")).content == b"whole"
    assert (len(web.asked("/always")), len(web.asked("/once"))) == (2, 2)


def test_connection_broken_between_pages_is_reopened(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    web.replies["/a"], web.replies["/b"] = [Reply(body=b"a", manner="reset after")], [Reply(body=b"b")]
    session = open_session()
    assert [session.get(web.url(path)).content for path in ("/a", "/b")] == [b"a", b"b"]


def test_refused_connection_is_transient(
    web: MisbehavingServer, open_session: OpenSession, clock: Clock
) -> None:
    address = web.url("/page")
    web.close()
    with pytest.raises(TransientError, match="refused"):
        open_session(retries=1).get(address)
    assert clock.slept == [1]


def test_unknown_host_is_transient(open_session: OpenSession, clock: Clock) -> None:
    with pytest.raises(TransientError, match=r"nowhere\.invalid cannot be resolved"):
        open_session(retries=0).get("http://nowhere.invalid/")


def test_proxies_are_not_used_and_the_error_names_this(
    web: MisbehavingServer, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", web.url(""))
    with pytest.raises(TransientError, match="proxies of the environment are not used"):
        open_session(retries=0).get("http://nowhere.invalid/")
    assert not web.requests


@pytest.mark.parametrize("manner", ["drip body", "drip headers", "silent"])
def test_slow_answer_ends_at_the_deadline(
    web: MisbehavingServer, open_session: OpenSession, manner: Manner
) -> None:
    web.replies["/page"] = [Reply(manner=manner)]
    with pytest.raises(TransientError, match=r"0\.5 s of this session are over"):
        open_session(deadline_s=0.5).get(web.url("/page"))
    assert len(web.asked("/page")) <= 1


def test_silent_server_is_transient(
    web: MisbehavingServer, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.replies["/robots.txt"] = [Reply(manner="silent")]
    monkeypatch.setattr(http, "_SILENCE_S", 0.1)
    with pytest.raises(TransientError, match=r"robots\.txt: timed out"):
        open_session(retries=0).get(web.url("/page"))


def test_session_after_its_deadline_sends_no_request(
    web: MisbehavingServer, open_session: OpenSession
) -> None:
    with pytest.raises(TransientError, match="over"):
        open_session(deadline_s=0).get(web.url("/page"))
    assert not web.requests


@pytest.mark.parametrize(("manner", "packed"), [("well", False), ("close", False), ("well", True)])
def test_decoded_page_size_is_limited_exactly(
    web: MisbehavingServer, open_session: OpenSession, tmp_path: Path, manner: Manner, packed: bool
) -> None:
    headers = {"ETag": '"1"'} | ({"Content-Encoding": "gzip"} if packed else {})
    for path, size in (("/fits", 1000), ("/over", 1001)):
        body = gzip.compress(b"x" * size) if packed else b"x" * size
        web.replies[path] = [Reply(body=body, headers=headers, manner=manner)]
    session = open_session(max_bytes=1000)
    with pytest.raises(ScrapeError, match=r"/over is larger than 1,000 bytes"):
        session.get(web.url("/over"))
    assert not list((tmp_path / "cache").glob("*"))
    assert len(web.asked("/over")) == 1
    assert len(session.get(web.url("/fits")).content) == 1000


def test_endless_body_stops_at_the_size_limit(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(body=b"x" * 1000, manner="drip body")]
    with pytest.raises(ScrapeError, match="larger than 1,001 bytes"):
        open_session(max_bytes=1001).get(web.url("/page"))
