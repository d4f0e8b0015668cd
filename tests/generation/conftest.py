"""A warehouse of the test's own, and an engine that counts what it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation, Message, Sampling
from tasks.engines.specs import EngineSpec


@pytest.fixture
def spec() -> EngineSpec:
    return EngineSpec(name="judge", kind="fake", model="judge")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """What the fake engine is asked from here on: the last message of every conversation, call by call."""
    calls: list[list[str]] = []
    answer = FakeEngine.generate

    def generate(
        self: FakeEngine,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        schema: Mapping[str, Any] | None = None,
        alternatives: int = 0,
    ) -> list[Generation]:
        calls.append([c[-1]["content"] for c in conversations])
        return answer(self, conversations, sampling, schema, alternatives)

    monkeypatch.setattr(FakeEngine, "generate", generate)
    load.unload()
    yield calls
    load.unload()
