"""One request at a time, over one connection, with a pause between two requests to a host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from tests.scrapers.conftest import Clock, OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply


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
    assert (web.most_at_work, len(web.asked("/robots.txt"))) == (1, 1)
