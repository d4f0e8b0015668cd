"""Half-sent requests: they end in time, make room for others, and shut nobody out."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn

from deployments.serve.sockets import HEAD_S, IN_ALL, OF_ONE_ADDRESS, patient
from tests.ports import free_port
from tests.waiting import until

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX: "


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def served(**limits: Any) -> Iterator[int]:
    """Serve a small application, and give its port."""
    port = free_port()
    config = uvicorn.Config(app, port=port, http=patient(**limits), lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)


def half_sent(port: int) -> socket.socket:
    """Return a connection with half of a head."""
    own = socket.create_connection(("127.0.0.1", port), timeout=60)
    own.sendall(HALF)
    return own


def closed(own: socket.socket) -> bool:
    """Wait for the other side's end; return whether it came."""
    with suppress(ConnectionResetError):
        return own.recv(1) == b""
    return True


def asked(port: int) -> int:
    return httpx.get(f"http://127.0.0.1:{port}/", timeout=60, trust_env=False).status_code


def test_a_head_that_does_not_arrive_ends_its_connection() -> None:
    with served(head_s=0.2) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as silent, half_sent(port) as half:
            assert closed(silent)
            assert closed(half)
        assert asked(port) == 200


def test_a_second_head_of_a_connection_must_arrive_too() -> None:
    with served(head_s=0.2) as port, socket.create_connection(("127.0.0.1", port), timeout=60) as own:
        own.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert own.recv(1000).startswith(b"HTTP/1.1 200")
        own.sendall(HALF)
        while rest := b"" if closed(own) else own.recv(1000):
            assert rest


def test_the_connection_that_waits_longest_makes_room() -> None:
    with served(head_s=3600, of_one_address=2) as port, half_sent(port) as first, half_sent(port) as second:
        assert asked(port) == 200
        assert closed(first)
        second.sendall(b"y\r\n\r\n")  # it is still open
        assert second.recv(1000).startswith(b"HTTP/1.1 200")


def test_limits_are_those_of_one_server() -> None:
    one, other = patient(), patient()
    assert one.room is not other.room  # type: ignore[attr-defined]
    assert one.room.of_one_address == min(OF_ONE_ADDRESS, one.room.in_all)  # type: ignore[attr-defined]
    assert one.room.in_all <= IN_ALL  # type: ignore[attr-defined]
    assert HEAD_S <= 10


@pytest.mark.heavy
@pytest.mark.slow
def test_eleven_hundred_half_sent_heads_shut_nobody_out() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        with served(head_s=3600) as port, ExitStack() as stack:
            for _ in range(1100):
                stack.enter_context(half_sent(port))
            assert asked(port) == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
