"""A local server with OpenAI's Batch API: files, batches, results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from email.parser import BytesParser
from email.policy import default
from typing import Any

from tests.engines.served import completion
from tests.http_server import Answer, HttpServer, Request, Send, dropped

Line = dict[str, Any]
Call = tuple[str, str]
"""Method, and path or its end."""


def _those(known: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """Return the calls whose method and path end are among the known ones."""
    return [
        (m, path) for m, path in calls if any(m == method and path.endswith(end) for method, end in known)
    ]


def answered(line: Line) -> Line:
    """Return the result line of a request: an answer that repeats its prompt."""
    body = completion(f"re: {line['body']['messages'][-1]['content']}")
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def refused(line: Line, status: int = 500, message: str = "broken", code: str | None = None) -> Line:
    """Return the result line of a failed request."""
    body = {"error": {"message": message, "code": code}}
    return answered(line) | {"response": {"status_code": status, "request_id": "r", "body": body}}


class BatchServer(HttpServer):
    """A server whose batches end after ``polls`` status requests.

    Attributes:
        results: from the lines of a batch to the lines of its output and error files; text if not JSON.
        ends: status at the end.
        stalls: (method, path's end) -> a function that returns when the call may be carried out.
        held: calls that are carried out but answered only when the server ends.
        dropped: calls that are carried out, then the connection is closed.
        fails: (method, path's end) -> status returned instead, until the entry is removed.
        sent: the lines of all batches begun. calls: (method, path) of all requests; done: of those carried
            out.
    """

    def __init__(self) -> None:
        self.results: Callable[[list[Line]], tuple[list[Any], list[Any]]] = lambda lines: (
            [answered(line) for line in lines],
            [],
        )
        self.ends, self.polls = "completed", 2
        self.errors: Any = None
        self.stalls: dict[Call, Callable[[], object]] = {}
        self.held: list[Call] = []
        self.dropped: list[Call] = []
        self.fails: dict[Call, int] = {}
        self.message = "no"
        self.changes: dict[str, Any] = {}
        self.sent: list[list[Line]] = []
        self.calls: list[Call] = []
        self.done: list[Call] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._polled: dict[str, int] = {}
        self._lock = threading.Lock()
        super().__init__(self._answer)
        self.url = f"{self.address}/v1"

    def count(self, method: str, end: str) -> int:
        """Return the number of such calls."""
        return len(_those([(method, end)], self.calls))

    def wait_for(self, method: str, end: str, n: int = 1) -> None:
        """Wait until n such calls have been carried out."""
        self.wait_until(lambda: len(_those([(method, end)], self.done)) >= n)

    def _answer(self, request: Request) -> Send:
        path = request.path.removeprefix("/v1").partition("?")[0]
        call = (request.method, path)
        with self._lock:
            self.calls.append(call)
            failing = [status for known, status in self.fails.items() if _those([known], [call])]
            if failing:
                return Answer({"error": {"message": self.message}}, failing[0])
        for known, stall in self.stalls.items():
            if _those([known], [call]):
                stall()
        with self._lock:
            answer = self._done(*call, request.body, request.headers["Content-Type"] or "")
        with self.changed:
            self.done.append(call)
            self.changed.notify_all()
        if _those(self.held, [call]):
            self.hold()
        if _those(self.dropped, [call]):
            return dropped
        return Answer({"error": {"message": self.message}}, 404) if answer is None else Answer(answer)

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
