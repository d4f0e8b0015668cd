"""A local HTTP server for tests, on a port that the system chooses.

A request counts once it is complete. It ends before the first byte of its answer is sent, since a client
with an answer may send its next request. A server can end at once, even while it holds an answer back.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import LONGEST_WAIT_S


@dataclass(frozen=True)
class Request:
    """A received request; ``number`` requests came before it."""

    number: int
    method: str
    path: str
    headers: Message
    body: bytes

    @cached_property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """A whole answer; a body other than bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        """Send the answer."""
        data = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        handler.send_response(self.status)
        defaults = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in (defaults | self.headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)


Send = Callable[[BaseHTTPRequestHandler], None]
"""An ``Answer``, or another function that sends bytes."""


def dropped(handler: BaseHTTPRequestHandler) -> None:
    """Send nothing and close the connection: the answer is lost."""
    handler.close_connection = True


class HttpServer:
    """A server whose answers come from a function; it records requests in the order of arrival.

    Attributes:
        received: all requests. under_way: number without an answer yet. most_at_once: its maximum.
        changed: notified when a request arrives or is answered. closing: set at the end.
    """

    def __init__(self, answer: Callable[[Request], Send]) -> None:
        self.received: list[Request] = []
        self.under_way = self.most_at_once = 0
        self.changed = threading.Condition()
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                with outer.changed:
                    request = Request(len(outer.received), self.command, self.path, self.headers, body)
                    outer.received.append(request)
                    outer.under_way += 1
                    outer.most_at_once = max(outer.most_at_once, outer.under_way)
                    outer.changed.notify_all()
                try:
                    send = answer(request)
                finally:
                    with outer.changed:
                        outer.under_way -= 1
                        outer.changed.notify_all()
                send(self)

            do_GET = do_HEAD = do_POST  # noqa: N815 - the names that the base class asks for

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:
                    self.close_connection = True  # the client has gone

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition on the requests holds; raise AssertionError if it never does."""
        with self.changed:
            came = self.changed.wait_for(lambda: bool(holds()), LONGEST_WAIT_S)
            assert came, f"{len(self.received)} requests came"

    def hold(self) -> None:
        """Hold an answer back until the server ends."""
        self.closing.wait(LONGEST_WAIT_S)

    def close(self) -> None:
        """End the server and the answers it holds back."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving(answer: Callable[[Request], Send]) -> Iterator[HttpServer]:
    """Yield a server for the duration of the block."""
    server = HttpServer(answer)
    try:
        yield server
    finally:
        server.close()
