"""A local HTTP server with scripted good and bad answers, which records its requests."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

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


@dataclass(frozen=True)
class Seen:
    """A request, the time when its headers were complete (monotonic seconds), and its connection."""

    path: str
    headers: dict[str, str]
    at: float
    connection: object


class MisbehavingServer(ThreadingHTTPServer):
    """A server that gives ``replies[path]`` in turn and repeats the last one; other paths answer 404."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: dict[str, list[Reply]] = defaultdict(lambda: [Reply(404)])
        self.requests: list[Seen] = []
        self.at_work = 0
        self.most_at_work = 0
        self.sni: list[str | None] = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return the address of a path."""
        return f"{scheme}://{host}:{self.server_port}{path}"

    def asked(self, path: str) -> list[Seen]:
        """Return the requests for one path, in order."""
        return [seen for seen in self.requests if seen.path == path]

    def use_tls(self, context: ssl.SSLContext) -> None:
        """Speak https from now on, and note the server name that clients ask for."""

        def note(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
            self.sni.append(name)

        context.sni_callback = note
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def next_reply(self, path: str) -> Reply:
        with self.lock:
            replies = self.replies[path]
            return replies.pop(0) if len(replies) > 1 else replies[0]

    def handle_error(self, request: object, client_address: object) -> None:
        """Print no traceback: tests let clients hang up."""


@contextmanager
def running() -> Iterator[MisbehavingServer]:
    """Yield a server for the duration of the block."""
    with MisbehavingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: MisbehavingServer

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.requests.append(Seen(self.path, dict(self.headers), time.monotonic(), self))
            server.at_work += 1
            server.most_at_work = max(server.most_at_work, server.at_work)
        reply = server.next_reply(self.path)
        if reply.manner in ("silent", "slow"):
            server.stopping.wait(None if reply.manner == "silent" else 0.05)
        with server.lock:  # from the first byte on, the client may send its next request
            server.at_work -= 1
        self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        if reply.manner == "reset":
            return self._reset()
        if self._unchanged(reply):
            self.send_response(304)
            return self.end_headers()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.manner == "drip headers":
            self.flush_headers()
            return self._drip(b"X-Slow: ")
        if reply.manner == "close":
            self.send_header("Connection", "close")
        elif reply.manner == "drip body":
            self.send_header("Content-Length", str(10**9))
        else:
            self.send_header("Content-Length", str(len(reply.body) + (reply.manner == "truncated")))
        self.end_headers()
        self.wfile.write(reply.body)
        if reply.manner == "drip body":
            self._drip(b"")
        if reply.manner == "reset after":
            self._reset()
        self.close_connection = self.close_connection or reply.manner == "truncated"

    def _unchanged(self, reply: Reply) -> bool:
        pairs = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
        return any(
            ours in reply.headers and self.headers[theirs] == reply.headers[ours] for theirs, ours in pairs
        )

    def _drip(self, first: bytes) -> None:
        self.wfile.write(first)
        while not self.server.stopping.wait(0.02):
            self.wfile.write(b"x")

    def _reset(self) -> None:
        self.close_connection = True
        # Without lingering, closing sends RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
