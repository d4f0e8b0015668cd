"""Allowed targets of requests: no redirect to other hosts, no private address, valid certificates."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from scrapers.addresses import checked_redirect, checked_url, is_public
from scrapers.http import PoliteSession, user_agent
from scrapers.model import ScrapeError, TransientError
from tests.scrapers.conftest import OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply


@pytest.fixture
def public_only(tmp_path: Path) -> PoliteSession:
    """A session with the defaults of users."""
    return PoliteSession(user_agent("someone@example.org"), tmp_path, retries=0)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "example.org/a",
        "",
        "http://",
        "http://example.org:99999/",
        "http://[::1",
    ],
)
def test_addresses_without_http_or_host_are_refused(url: str) -> None:
    with pytest.raises(ScrapeError, match=r"give http:// or https://|cannot be read"):
        checked_url(url)


def test_credentials_are_refused_and_not_shown(public_only: PoliteSession) -> None:
    with pytest.raises(ScrapeError, match=r"example\.org holds a user name or password") as caught:
        public_only.get("https://user:secret@example.org/")
    assert "secret" not in str(caught.value)
    # A slash ends the host, and "secret" becomes a port that cannot be read.
    with pytest.raises(ScrapeError, match="cannot be read") as caught:
        public_only.get("https://user:secret/and@example.org/")
    assert "secret" not in str(caught.value)


def test_query_is_not_shown_in_errors(web: MisbehavingServer, open_session: OpenSession) -> None:
    with pytest.raises(ScrapeError, match=r"/page\?\.\.\. answers with status 404") as caught:
        open_session().get(web.url("/page?key=secret"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_on_the_host_are_followed(
    web: MisbehavingServer, open_session: OpenSession, status: int
) -> None:
    web.replies["/a/old"] = [Reply(status, headers={"Location": "../new?q=1#part"})]
    web.replies["/new?q=1"] = [Reply(body=b"x")]
    page = open_session().get(web.url("/a/old"))
    assert (page.content, page.url) == (b"x", web.url("/new?q=1"))


def test_redirects_are_limited_to_five(web: MisbehavingServer, open_session: OpenSession) -> None:
    for number in range(6):
        web.replies[f"/{number}"] = [Reply(302, headers={"Location": f"/{number + 1}"})]
    web.replies["/6"] = [Reply(body=b"x")]
    assert open_session().get(web.url("/1")).content == b"x"
    with pytest.raises(ScrapeError, match="/0 redirects over 5 times"):
        open_session().get(web.url("/0"))


def test_redirect_to_another_host_is_refused(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(302, headers={"Location": web.url("/there", host="localhost")})]
    with pytest.raises(ScrapeError, match=r"127\.0\.0\.1:\d+/page redirects to http://localhost:\d+/there"):
        open_session().get(web.url("/page"))
    assert [seen.path for seen in web.requests] == ["/robots.txt", "/page"]


def test_redirect_to_a_private_address_is_refused(web: MisbehavingServer, open_session: OpenSession) -> None:
    web.replies["/page"] = [Reply(302, headers={"Location": "http://169.254.169.254/latest/meta-data/"})]
    with pytest.raises(ScrapeError, match=r"redirects to http://169\.254\.169\.254/latest/meta-data/"):
        open_session().get(web.url("/page"))


@pytest.mark.parametrize(
    ("start", "location", "target"),
    [
        ("http://example.org/a", "https://example.org/a", "https://example.org/a"),
        ("http://example.org/a", "https://EXAMPLE.org:443/a", "https://example.org/a"),
        ("https://example.org:8443/a", "b", "https://example.org:8443/b"),
        ("https://example.org/a", "//example.org/b", "https://example.org/b"),
        ("https://example.org/a", "http://example.org/a", None),
        ("http://example.org/a", "http://example.org:22/", None),
        ("http://example.org:8080/a", "https://example.org/a", None),
        ("https://example.org/a", "//evil.org/a", None),
        ("https://example.org/a", "https://example.org.evil.org/a", None),
        ("https://example.org/a", "https://www.example.org/a", None),
        ("https://example.org/a", "https://user:pass@example.org/a", None),
        ("https://example.org/a", "javascript:alert(1)", None),
        ("https://example.org/a", "http://[broken", None),
    ],
)
def test_redirect_targets_are_checked(start: str, location: str, target: str | None) -> None:
    if target is None:
        with pytest.raises(ScrapeError):
            checked_redirect(httpx.URL(start), location)
    else:
        assert str(checked_redirect(httpx.URL(start), location)) == target


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1",
        "224.0.0.251", "240.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fe80::1%eth0", "ff0e::1",
        "::ffff:127.0.0.1", "::ffff:93.184.215.14", "::ffff:0:93.184.215.14", "::127.0.0.1",
        "::93.184.215.14", "64:ff9b:1::93.184.215.14", "fec0::1", "64:ff9b::169.254.169.254",
        "2002:7f00:1::",
    ],
)  # fmt: skip
def test_private_and_special_addresses_are_not_public(address: str) -> None:
    assert is_public(address) is False


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f::1", "64:ff9b::93.184.215.14"])
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address) is True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
def test_private_addresses_are_refused_before_connecting(
    web: MisbehavingServer, public_only: PoliteSession, host: str
) -> None:
    with pytest.raises(ScrapeError, match="which is not public: refused"):
        public_only.get(web.url("/page", host=host))
    assert not web.requests


def _answers(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let the resolver give these answers for names in turn; return the names resolved."""
    real = socket.getaddrinfo
    left, asked = list(answers), []

    def resolve(host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:
        if host[0].isdigit():
            return real(host, port, *arguments, **options)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def test_host_with_one_private_address_is_refused(
    web: MisbehavingServer, public_only: PoliteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answers(monkeypatch, ["93.184.215.14", "127.0.0.1"])
    with pytest.raises(ScrapeError, match=r"example\.org has the address 127\.0\.0\.1"):
        public_only.get(web.url("/page", host="example.org"))


def test_host_is_resolved_once_for_check_and_connection(
    web: MisbehavingServer, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens at the second answer, so a second look-up would fail. A dead first address is skipped.
    asked = _answers(monkeypatch, ["127.0.0.9", "127.0.0.1"], ["127.0.0.9"])
    web.replies["/robots.txt"] = web.replies["/page"] = [Reply(body=b"x")]
    assert open_session().get(web.url("/page", host="example.org")).content == b"x"
    assert asked == ["example.org"]
    assert {seen.headers["Host"] for seen in web.requests} == {f"example.org:{web.server_port}"}


def test_https_checks_the_certificate_of_the_name(
    web: MisbehavingServer, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("example.org").configure_cert(context)
    web.use_tls(context)
    _answers(monkeypatch, *[["127.0.0.1"]] * 9)
    web.replies["/page"] = [Reply(body=b"x")]
    session = open_session(retries=0)
    assert session.get(web.url("/page", host="example.org", scheme="https")).content == b"x"
    with pytest.raises(TransientError, match="certificate"):
        session.get(web.url("/page", host="another.org", scheme="https"))
    assert set(web.sni) == {"example.org", "another.org"}
    assert {seen.headers["Host"] for seen in web.requests} == {f"example.org:{web.server_port}"}
