"""Connections that wait for their clients: they end in time, make room for others, and shut nobody out."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn

from deployments.serve.sockets import HEAD_S, IN_ALL, OF_ONE_ADDRESS, bounded
from tests.ports import free_port
from tests.waiting import until

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX: "
WAITING = {
    "head": HALF,
    "body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
    "unread response": b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
    "unread responses": b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 20,
    "unread stream": b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
    "message": b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
}
"""Name of a wait -> what the client of such a connection has sent; it reads nothing."""
LARGE = bytes(8_000_000)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request once its body is there; accept a WebSocket and wait for its end."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
    elif scope["type"] == "http" and scope["path"] in ("/large", "/stream"):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(3 if scope["path"] == "/stream" else 0):
            await send({"type": "http.response.body", "body": LARGE, "more_body": True})
        await send({"type": "http.response.body", "body": LARGE})
    elif scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await asyncio.sleep(2 if scope["path"] == "/slow" else 0)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def served(**limits: Any) -> Iterator[int]:
    """Serve a small application, and give its port."""
    port = free_port()
    config = uvicorn.Config(app, port=port, **bounded(**limits), lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield port
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)


def half_sent(port: int, sent: bytes = HALF) -> socket.socket:
    """Return a connection that its client leaves alone; it has hardly any memory for a response."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    own.settimeout(60)
    own.connect(("127.0.0.1", port))
    own.sendall(sent)
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


@pytest.mark.parametrize("waits_for", WAITING)
def test_a_connection_that_waits_for_its_client_makes_room(waits_for: str) -> None:
    with served(head_s=3600, rest_s=3600, of_one_address=4) as port, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(half_sent(port, WAITING[waits_for]))
        for _ in range(3):
            assert asked(port) == 200


@pytest.mark.parametrize("waits_for", sorted(WAITING.keys() - {"message"}))
def test_a_connection_that_waits_for_its_client_ends(waits_for: str) -> None:
    with served(head_s=0.2, rest_s=0.2) as port, half_sent(port, WAITING[waits_for]) as own:
        time.sleep(1)  # reads nothing meanwhile
        received = 0
        with suppress(ConnectionResetError):
            while data := own.recv(1_000_000):
                received += len(data)
        assert received < 8_000_000


def test_a_web_socket_is_counted_until_it_ends() -> None:
    with served(of_one_address=2) as port:
        for _ in range(5):
            with half_sent(port, WAITING["message"]) as own:
                assert own.recv(1000).startswith(b"HTTP/1.1 101")
        assert asked(port) == 200


def test_a_server_at_work_is_not_interrupted() -> None:
    """Connections whose response is being made stay, whoever else comes."""
    with (
        served(head_s=0.2, rest_s=0.2, of_one_address=2) as port,
        socket.create_connection(("127.0.0.1", port), timeout=60) as first,
    ):
        first.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(4):
            assert asked(port) == 200
        assert first.recv(1000).startswith(b"HTTP/1.1 200")


def test_limits_are_those_of_one_server() -> None:
    one, other = bounded(), bounded()
    room = one["http"].room
    assert room is one["ws"].room
    assert room is not other["http"].room
    assert room.of_one_address == min(OF_ONE_ADDRESS, room.in_all)
    assert room.in_all <= IN_ALL
    assert HEAD_S <= 10


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("waits_for", ["head", "body", "message"])
def test_eleven_hundred_connections_shut_nobody_out(waits_for: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        with served(head_s=3600, rest_s=3600) as port, ExitStack() as stack:
            for _ in range(1100):
                stack.enter_context(half_sent(port, WAITING[waits_for]))
            assert asked(port) == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
