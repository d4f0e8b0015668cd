"""A warehouse of the test's own, and a small file of word vectors that counts how it is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tasks.engines.fasttext_vectors import VecVectors
from tasks.engines.protocols import Embedded, Progress

WORDS = "soy 1 0 2\nsauce 3 4 0\nturkey 0 0 1\n豆腐 7 0 0\n"


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
