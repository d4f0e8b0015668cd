"""After kill -9 the next run sends again at most the batch that was under way."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse

REPOSITORY = Path(__file__).parents[2]
N, BATCH, DIES_AT = 12, 3, 8

RUN = f"""
import sys
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.prompts import Prompt
from tests.loop.completing import complete
from tasks.loop.requests import Engine
from tasks.loop.steps import take_over_orphans

take_over_orphans()
engine = Engine.of(EngineSpec(name="served", kind="openai", model="m", base_url=sys.argv[1]))
prompts = [Prompt([{{"role": "user", "content": f"q{{i}}"}}]) for i in range({N})]
print([c.text for c in complete(prompts, engine, Sampling(), ("run-1", "m"), "label", {BATCH})])
"""


class Server:
    """Answers each question with its own text; kills ``victim`` when the DIES_AT-th question comes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.victim: subprocess.Popen[str] | None = None
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                question = body["messages"][0]["content"]
                with lock:
                    outer.counts[question] += 1
                    if outer.victim and outer.counts.total() == DIES_AT:
                        outer.victim.kill()
                        return
                message = {"role": "assistant", "content": f"to {question}"}
                usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
                answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "usage": usage}
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                data = json.dumps(answer | {"choices": choices}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # the victim's
                    super().handle()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def start(home: Path, url: str) -> subprocess.Popen[str]:
    environment = os.environ | {"CULTUREMETER_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, url], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_after_a_kill_no_stored_completion_is_requested_again(warehouse: Warehouse, server: Server) -> None:
    server.victim = start(warehouse.home, server.url)
    assert server.victim.wait(timeout=120) == -9
    server.victim = None
    stored = warehouse.query("SELECT text FROM response")["text"].to_list()
    assert len(stored) == (DIES_AT - 1) // BATCH * BATCH
    again = start(warehouse.home, server.url)
    output, _ = again.communicate(timeout=120)
    assert output.strip() == str([f"to q{i}" for i in range(N)])
    assert all(server.counts[text.removeprefix("to ")] == 1 for text in stored)
    assert sum(n - 1 for n in server.counts.values()) <= BATCH
