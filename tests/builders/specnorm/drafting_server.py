"""A local OpenAI-compatible server that writes SpecNorm drafts: good ones, or spoilt as a test wants."""

from __future__ import annotations

import contextlib
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tasks.engines.protocols import Message

WORDS = [
    f"{first}{last}"
    for first in ("bar", "kel", "min", "tor", "vus", "zal")
    for last in ("do", "fe", "gi", "la", "no", "pu")
]
"""36 words without a meaning."""


@dataclass(frozen=True)
class Scene:
    """What a drafting prompt asks for, read back from it."""

    country: str
    cues: dict[str, str]
    norm: str
    stance: str


def scene_of(conversation: list[Message]) -> Scene:
    text = conversation[-1]["content"]
    country, cues, norm = (json.loads(data) for data in re.findall(r"<data>(.*?)</data>", text))
    stance = re.search(r"right answer to the question is (yes|no)\.", text)
    assert stance
    return Scene(country, dict(cue.split(": ", 1) for cue in cues), norm, stance[1])


def good(scene: Scene) -> dict[str, str]:
    """A draft without fault: all cues named, words of its own for each norm."""
    words = random.Random(scene.norm).sample(WORDS, 24)
    return {
        "persona": f"Sam of {words[0]} {words[1]} is known for this: {', '.join(scene.cues.values())}.",
        "situation": f"Sam sees {' '.join(words[2:])}.",
        "question": f"Is this fine with the {words[0]} people?",
        "label": scene.stance,
        "norm": scene.norm,
    }


Writer = Callable[[Scene], object]
"""What the model answers: a text, or fields that become JSON."""


class DraftingServer:
    """Answers every request with a draft; ``scenes`` are those asked for."""

    def __init__(self, writer: Writer) -> None:
        self.scenes: list[Scene] = []
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                scene = scene_of(body["messages"])
                with lock:
                    outer.scenes.append(scene)
                written = writer(scene)
                self._send(written if isinstance(written, str) else json.dumps(written))

            def _send(self, text: str) -> None:
                usage = {"prompt_tokens": 1000, "completion_tokens": 400, "total_tokens": 1400}
                message = {"role": "assistant", "content": text}
                choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
                answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
                data = json.dumps(answer | {"choices": [choice], "usage": usage}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # of a client that was killed
                    super().handle()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def write_spec(self, home: Path, name: str) -> None:
        """Make the server known in a home as the model ``name``, at a dollar for a million tokens."""
        (home / "engines" / f"{name}.toml").write_text(
            f'kind = "openai"\nmodel = "m"\nbase_url = "{self.url}"\n'
            "usd_per_million_input_tokens = 1.0\nusd_per_million_output_tokens = 1.0\n"
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def drafting(writer: Writer) -> Iterator[DraftingServer]:
    server = DraftingServer(writer)
    try:
        yield server
    finally:
        server.close()
