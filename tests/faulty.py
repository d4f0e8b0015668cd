"""Proxies before an S3 server and before Postgres that fail like networks, when a test sets a fault."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.ports import free_port

Fault = Callable[[str, str], str]
"""(method, path) -> "" (no fault), "503", "drop" (before the server gets it), "lost" (after it got it)."""


class FaultyS3:
    """A proxy in place of ``endpoint``. fault: the fault of a request; asked: all requests."""

    def __init__(self, endpoint: str) -> None:
        self.upstream = endpoint.removeprefix("http://")
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.fault: Fault = lambda method, path: ""
        self.asked: list[tuple[str, str]] = []
        self._server: ThreadingHTTPServer | None = None

    def listen(self) -> None:
        """Accept connections."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                proxy.handle(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - as http.server names them

            def log_message(self, *given: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def refuse(self) -> None:
        """Refuse every connection from now on."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        self.asked.append((request.command, request.path))
        request.close_connection = True
        fault = self.fault(request.command, request.path)
        if fault == "drop":
            return
        if fault == "503":
            request.send_response(503)
            request.send_header("Content-Length", "0")
            request.send_header("Connection", "close")
            request.end_headers()
            return
        upstream = http.client.HTTPConnection(self.upstream)
        upstream.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        if fault == "lost":
            return
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                request.send_header(name, value)
        length = answer.getheader("Content-Length") if request.command == "HEAD" else str(len(content))
        request.send_header("Content-Length", length or "0")
        request.send_header("Connection", "close")
        request.end_headers()
        request.wfile.write(content)


class FaultyPostgres:
    """A proxy in place of the server at ``port``; ``cut`` acts like a kill of the server."""

    def __init__(self, port: int) -> None:
        self.upstream, self.port = port, free_port()
        self._pairs: list[socket.socket] = []
        self._listener: socket.socket | None = None

    @property
    def is_cut(self) -> bool:
        """Whether connections are refused."""
        return self._listener is None

    def listen(self) -> None:
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def cut(self) -> None:
        """End all connections, like a killed server, and refuse others."""
        if self._listener:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for each in self._pairs:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", self.upstream))
                self._pairs += [here, there]
                for one, two in ((here, there), (there, here)):
                    threading.Thread(target=_pipe, args=[one, two], daemon=True).start()


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def faulty_s3(endpoint: str) -> Iterator[FaultyS3]:
    """Yield a proxy whose faults the test sets."""
    proxy = FaultyS3(endpoint)
    proxy.listen()
    try:
        yield proxy
    finally:
        proxy.refuse()


@contextmanager
def faulty_postgres(port: int) -> Iterator[FaultyPostgres]:
    """Yield a proxy that the test can cut."""
    proxy = FaultyPostgres(port)
    proxy.listen()
    try:
        yield proxy
    finally:
        proxy.cut()
