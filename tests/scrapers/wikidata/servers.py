"""Local servers: oxigraph with a Turtle file, and an HTTP server with scripted faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs
from urllib.request import Request, urlopen

from tests.ports import free_port
from tests.waiting import LONGEST_WAIT_S, until

OXIGRAPH = Path(sys.executable).with_name("oxigraph")
RESULT = b'{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"literal","value":"ok"}}]}}'


@contextmanager
def oxigraph(turtle: bytes) -> Iterator[str]:
    """Yield the address of the query endpoint of a server with ``turtle`` in memory (starts in 0.05 s)."""
    place = f"127.0.0.1:{free_port()}"
    server = subprocess.Popen([OXIGRAPH, "serve", "--bind", place], stderr=subprocess.DEVNULL)
    try:
        load = Request(
            f"http://{place}/store?default", turtle, {"Content-Type": "text/turtle"}, method="POST"
        )
        _until_it_answers(load)
        yield f"http://{place}/query"
    finally:
        server.terminate()
        server.wait()


def _until_it_answers(request: Request) -> None:
    def answers() -> bool:
        try:
            urlopen(request, timeout=LONGEST_WAIT_S).close()
        except OSError as error:
            if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                raise
            return False
        return True

    until(answers)


class Asked(BaseHTTPRequestHandler):
    """One request, with the form and server that a script needs."""

    form: dict[str, list[str]]
    server: Misbehaving

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.form = parse_qs(body)
        self.server.asked.append(self)
        scripts = self.server.scripts
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        script(self)

    def do_GET(self) -> None:
        self.server.gets += 1
        self.reply(200, RESULT)

    def reply(self, status: int, body: bytes, /, **headers: str) -> None:
        """Send a whole answer; ``Retry_After="1"`` becomes the header Retry-After."""
        self.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        defaults = {"Content-Type": "application/sparql-results+json", "Content-Length": str(len(body))}
        for name, value in (defaults | named).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


Script = Callable[[Asked], None]


class Misbehaving(ThreadingHTTPServer):
    """A server that answers POSTs by the scripts in turn, repeats the last one, and records requests."""

    daemon_threads = True
    scripts: list[Script]
    asked: list[Asked]
    ending: Event
    gets = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/sparql"


@contextmanager
def misbehaving() -> Iterator[Misbehaving]:
    """Yield a local server; set its ``scripts``."""
    server = Misbehaving(("127.0.0.1", 0), Asked)
    server.scripts, server.asked, server.ending = [], [], Event()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        thread.join()
        server.server_close()


def reply(status: int, body: bytes = RESULT, /, **headers: str) -> Script:
    """Return a script with this answer."""
    return lambda asked: asked.reply(status, body, **headers)
