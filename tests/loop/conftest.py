"""A fake engine and a small file of word vectors whose calls are recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.fasttext_vectors import VecVectors
from tasks.engines.protocols import Embedded, Generation, Message, Progress
from tasks.engines.specs import EngineSpec

WORDS = "soy 1 0 2\nsauce 3 4 0\nturkey 0 0 1\n豆腐 7 0 0\n"


@pytest.fixture
def spec() -> EngineSpec:
    return EngineSpec(name="judge", kind="fake", model="judge")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """Yield the last messages of all conversations that the fake engine gets from now on, by call."""
    calls: list[list[str]] = []
    generate = FakeEngine.generate

    def record(self: FakeEngine, conversations: Sequence[Sequence[Message]], *more: Any) -> list[Generation]:
        calls.append([c[-1]["content"] for c in conversations])
        return generate(self, conversations, *more)

    monkeypatch.setattr(FakeEngine, "generate", record)
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
    """Return the texts that are embedded from now on, by call."""
    calls: list[list[str]] = []
    own = VecVectors.embed

    def embed(self: VecVectors, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        calls.append(list(texts))
        return own(self, texts, progress)

    monkeypatch.setattr(VecVectors, "embed", embed)
    return calls
