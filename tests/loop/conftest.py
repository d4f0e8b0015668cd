"""An engine that counts what it is asked, and a small file of word vectors that counts how it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.fasttext_vectors import VecVectors
from tasks.engines.protocols import Embedded, Generation, Message, Progress, Sampling
from tasks.engines.specs import EngineSpec

WORDS = "soy 1 0 2\nsauce 3 4 0\nturkey 0 0 1\n豆腐 7 0 0\n"


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
        *more: Any,
    ) -> list[Generation]:
        calls.append([c[-1]["content"] for c in conversations])
        return answer(self, conversations, sampling, schema, alternatives, *more)

    monkeypatch.setattr(FakeEngine, "generate", generate)
    load.unload()
    yield calls
    load.unload()


@pytest.fixture
def words(tmp_path: Path) -> str:
    """Source of an embedder with three dimensions and four words."""
    path = tmp_path / "words.vec"
    path.write_text(WORDS, encoding="utf-8")
    return str(path)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is embedded from here on, call by call."""
    calls: list[list[str]] = []
    own = VecVectors.embed

    def embed(self: VecVectors, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        calls.append(list(texts))
        return own(self, texts, progress)

    monkeypatch.setattr(VecVectors, "embed", embed)
    return calls
