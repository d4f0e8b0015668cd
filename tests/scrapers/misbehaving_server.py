"""The scripted server with good and bad answers, which records its requests."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Literal

from tests.http_server import HttpServer, Request, Send

Manner = Literal[
    "well", "truncated", "close", "drip body", "drip headers", "silent", "reset", "reset after", "slow"
]


@dataclass(frozen=True)
class Reply:
    """One answer; its status is 304 if the request's condition names the answer's ETag or Last-Modified.

    ``manner``: "truncated" promises one byte more than it sends; "close" ends the body by closing; "drip ..."
    sends a byte every 20 ms without end; "silent" sends nothing; "reset" breaks the connection
    instead of an answer; "reset after" answers well and then breaks it; "slow" takes 50 ms.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = "well"


@dataclass
class Seen:
    """A request, the time when it was complete (monotonic seconds), and the connection of its answer."""

    path: str
    headers: dict[str, str]
    at: float
    connection: object = None


class MisbehavingServer(HttpServer):
    """A server that gives ``replies[path]`` in turn and repeats the last one; other paths answer 404."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = defaultdict(lambda: [Reply(404)])
        self.requests: list[Seen] = []
        self.sni: list[str | None] = []
        super().__init__(self._chosen)
        self.server_port = int(self.address.rpartition(":")[2])
        handler = self._server.RequestHandlerClass
        handler.protocol_version, handler.disable_nagle_algorithm = "HTTP/1.1", True  # type: ignore[attr-defined]

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return the address of a path."""
        return f"{scheme}://{host}:{self.server_port}{path}"

    def asked(self, path: str) -> list[Seen]:
        """Return the requests for one path, in order."""
        return [seen for seen in self.requests if seen.path == path]

    def use_tls(self, context: ssl.SSLContext) -> None:
        """Speak https from now on, and note the server name that clients ask for."""
        context.sni_callback = lambda _, name, __: self.sni.append(name)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def _chosen(self, request: Request) -> Send:
        seen = Seen(request.path, dict(request.headers), time.monotonic())
        with self.changed:
            self.requests.append(seen)
            replies = self.replies[request.path]
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply.manner in ("silent", "slow"):
            self.closing.wait(None if reply.manner == "silent" else 0.05)
        return partial(self._answer, seen, reply)

    def _answer(self, seen: Seen, reply: Reply, handler: BaseHTTPRequestHandler) -> None:
        seen.connection = handler
        if reply.manner == "reset":
            return _reset(handler)
        pairs = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
        if any(
            ours in reply.headers and seen.headers.get(theirs) == reply.headers[ours]
            for theirs, ours in pairs
        ):
            handler.send_response(304)
            return handler.end_headers()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if reply.manner == "drip headers":
            handler.flush_headers()
            return self._drip(handler, b"X-Slow: ")
        if reply.manner == "close":
            handler.send_header("Connection", "close")
        else:
            length = 10**9 if reply.manner == "drip body" else len(reply.body) + (reply.manner == "truncated")
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(reply.body)
        if reply.manner == "drip body":
            self._drip(handler, b"")
        if reply.manner == "reset after":
            _reset(handler)
        handler.close_connection = handler.close_connection or reply.manner == "truncated"

    def _drip(self, handler: BaseHTTPRequestHandler, first: bytes) -> None:
        handler.wfile.write(first)
        while not self.closing.wait(0.02):
            handler.wfile.write(b"x")


def _reset(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    # Without lingering, closing sends RST.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(handler.connection.detach())


@contextmanager
def running() -> Iterator[MisbehavingServer]:
    """Yield a server for the duration of the block."""
    server = MisbehavingServer()
    try:
        yield server
    finally:
        server.close()
