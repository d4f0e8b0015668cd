"""Local servers: oxigraph with a Turtle file, and an HTTP server with scripted faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from tests.http_server import Answer, HttpServer, Send
from tests.http_server import Request as Received
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


class Endpoint(HttpServer):
    """A server that answers POSTs by the scripts in turn, and repeats the last one."""

    def __init__(self) -> None:
        self.scripts: list[Send] = []
        super().__init__(self._answer)
        self.url = f"{self.address}/sparql"

    def _answer(self, request: Received) -> Send:
        if request.method == "GET":
            return reply(200)
        return self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]


def reply(status: int, body: bytes = RESULT, /, **headers: str) -> Answer:
    """Return a whole answer; ``Retry_After="1"`` becomes the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(body, status, {"Content-Type": "application/sparql-results+json"} | named)
