"""A server on this machine that has OpenAI's Batch API: files, batches, results."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.engines.test_openai import completion

Line = dict[str, Any]


def answered(line: Line) -> Line:
    """The result of a request: an answer that repeats what was asked."""
    body = completion(f"re: {line['body']['messages'][-1]['content']}")
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def refused(line: Line, status: int = 500, message: str = "broken", code: str | None = None) -> Line:
    """The result of a request that failed."""
    body = {"error": {"message": message, "code": code}}
    return answered(line) | {"response": {"status_code": status, "request_id": "r", "body": body}}


class BatchServer:
    """Batches end once they were asked for ``polls`` times.

    Attributes:
        results: from the lines of a batch to the lines of its output and error files, as text where they are
            no JSON. ends: status at the end.
        delays: (method, path's end) -> seconds between doing what is asked and saying so. stalls: before it.
        fails: (method, path's end) -> status that is given in place of doing it, until it is taken out.
        sent: the lines of all batches begun. calls: (method, path) of all requests.
    """

    def __init__(self) -> None:
        self.results: Callable[[list[Line]], tuple[list[Any], list[Any]]] = lambda lines: (
            [answered(line) for line in lines],
            [],
        )
        self.ends, self.polls = "completed", 2
        self.errors: Any = None
        self.delays: dict[tuple[str, str], float] = {}
        self.stalls: dict[tuple[str, str], float] = {}
        self.fails: dict[tuple[str, str], int] = {}
        self.message = "no"
        self.changes: dict[str, Any] = {}
        self.sent: list[list[Line]] = []
        self.calls: list[tuple[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._polled: dict[str, int] = {}
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._reply(*outer.do("POST", self.path, body, self.headers["Content-Type"]))

            def do_GET(self) -> None:
                self._reply(*outer.do("GET", self.path, b"", ""))

            def _reply(self, status: int, body: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the client was killed

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, method: str, end: str) -> int:
        """How many such calls there were."""
        return sum(m == method and path.endswith(end) for m, path in self.calls)

    def do(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        """Status and body of one call."""
        path = path.removeprefix("/v1").partition("?")[0]
        with self._lock:
            self.calls.append((method, path))
            failing = [
                status for (m, end), status in self.fails.items() if m == method and path.endswith(end)
            ]
            if failing:
                return failing[0], json.dumps({"error": {"message": self.message}}).encode()
        self._sleep(self.stalls, method, path)
        with self._lock:
            answer = self._done(method, path, body, kind)
        self._sleep(self.delays, method, path)
        if answer is None:
            return 404, json.dumps({"error": {"message": self.message}}).encode()
        return 200, answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def _sleep(self, seconds: dict[tuple[str, str], float], method: str, path: str) -> None:
        time.sleep(next((s for (m, end), s in seconds.items() if m == method and path.endswith(end)), 0))

    def _done(self, method: str, path: str, body: bytes, kind: str) -> Any:
        if (method, path) == ("POST", "/files"):
            form = BytesParser(policy=default).parsebytes(f"Content-Type: {kind}\n\n".encode() + body)
            parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
            assert parts["purpose"].get_content() == "batch"
            return {"id": self._file(bytes(parts["file"].get_payload(decode=True)))} | self.changes
        if (method, path) == ("POST", "/batches"):
            return self._begin(json.loads(body))
        if (method, path) == ("GET", "/batches"):
            return {"data": list(self.batches.values())[::-1], "has_more": False}
        name = path.split("/")[2]
        if path.endswith("/content"):
            return self.files.get(name)
        return self._state(name) if name in self.batches else None

    def _file(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def _begin(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert asked["endpoint"] == "/v1/chat/completions"
        assert asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        self.sent.append(lines)
        name = f"batch_{len(self.batches)}"
        batch = {"id": name, "status": "validating", "input_file_id": asked["input_file_id"]}
        self.batches[name] = batch
        return batch

    def _state(self, name: str) -> dict[str, Any]:
        batch, lines = self.batches[name], self.sent[int(name.split("_")[1])]
        self._polled[name] = n = self._polled.get(name, 0) + 1
        batch["status"] = "in_progress"
        batch["request_counts"] = {"total": len(lines), "completed": min(n, len(lines)), "failed": 0}
        if n >= self.polls and "output_file_id" not in batch:
            for file, results in zip(("output_file_id", "error_file_id"), self.results(lines), strict=True):
                texts = [r if isinstance(r, str) else json.dumps(r) for r in results]
                batch[file] = self._file("\n".join(texts).encode()) if texts else None
        if n >= self.polls:
            batch |= {"status": self.ends, "errors": self.errors}
        return batch
