"""After kill -9 the next run sends again at most the batch that was under way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.served import Scripted, completion
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


class Killer(Scripted):
    """Answers each question with its own text; kills ``victim`` when the DIES_AT-th question comes."""

    def __init__(self) -> None:
        self.victim: subprocess.Popen[str] | None = None
        super().__init__(self._reply)

    def _reply(self, number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.victim and self.counts().total() >= DIES_AT:
            self.victim.kill()
        return 200, completion(f"to {request['messages'][0]['content']}")

    def counts(self) -> Counter[str]:
        """Return how often each question came."""
        return Counter(request["messages"][0]["content"] for request in self.requests)


@pytest.fixture
def server() -> Iterator[Killer]:
    server = Killer()
    yield server
    server.close()


def start(home: Path, url: str) -> subprocess.Popen[str]:
    environment = os.environ | {"CULTUREMETER_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, url], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_after_a_kill_no_stored_completion_is_requested_again(warehouse: Warehouse, server: Killer) -> None:
    server.victim = start(warehouse.home, server.url)
    assert server.victim.wait(timeout=120) == -9
    server.victim = None
    stored = warehouse.query("SELECT text FROM response")["text"].to_list()
    assert len(stored) == (DIES_AT - 1) // BATCH * BATCH
    again = start(warehouse.home, server.url)
    output, _ = again.communicate(timeout=120)
    assert output.strip() == str([f"to q{i}" for i in range(N)])
    counts = server.counts()
    assert all(counts[text.removeprefix("to ")] == 1 for text in stored)
    assert sum(n - 1 for n in counts.values()) <= BATCH
