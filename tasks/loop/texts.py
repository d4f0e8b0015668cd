"""Requests for the vectors of texts, as values. A vector is stored under the hash of its text. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tasks.engines.protocols import Ability, Embedded, Embedder
from tasks.loop.requests import Engine, Request


def text_hash(text: str) -> str:
    """Return the first 32 hex digits of a text's SHA-256, in SQL ``left(sha256(text), 32)``."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Texts(Request[Embedded]):
    """Texts for one embedder; decoded to the vectors of ``texts`` in order.

    A vector is the same on every occasion.
    """

    kind: ClassVar[str] = "embedding"
    ability: ClassVar[Ability] = "embed"
    columns: ClassVar[tuple[str, ...]] = ("text_hash", "vector", "n_tokens", "truncated")

    texts: Sequence[str]
    batch: int = 512

    @cached_property
    def by_hash(self) -> dict[str, str]:
        """Hash -> text."""
        return {text_hash(text): text for text in self.texts}

    @property
    def units(self) -> Sequence[str]:
        """Hashes of the texts, each once."""
        return list(self.by_hash)

    def identity(self, engine: Engine) -> list[Any]:
        return ["embed", engine.hash]

    def hash(self, engine: Engine) -> str:
        """Implement ``Request.hash``; it does not depend on the occasion."""
        return super().hash(replace(engine, occasion=""))

    def compute(
        self, engine: Embedder, units: Sequence[str], progress: Callable[[int], None]
    ) -> pl.DataFrame:
        """Implement ``Request.compute``. Texts are not stored, because they are answers or reference data."""
        embedded = engine.embed([self.by_hash[unit] for unit in units])
        progress(len(units))
        return pl.DataFrame(
            {
                "text_hash": list(units),
                "vector": list(embedded.vectors),
                "n_tokens": embedded.n_tokens,
                "truncated": embedded.truncated,
            },
            schema_overrides={"vector": pl.List(pl.Float32)},
        )

    def decode(self, frame: pl.DataFrame) -> Embedded:
        """Implement ``Request.decode``.

        Raises:
            KeyError: a text has no vector yet.
        """
        place = {text: row for row, text in enumerate(frame["text_hash"])}
        rows = np.array([place[text_hash(text)] for text in self.texts], dtype=np.int64)
        dimension = len(frame["vector"][0]) if frame.height else 0
        vectors = frame["vector"].explode(empty_as_null=False).to_numpy().reshape(frame.height, dimension)
        n_tokens, truncated = frame["n_tokens"].to_numpy(), frame["truncated"].to_numpy()
        return Embedded(vectors[rows], n_tokens[rows].astype(np.int64), truncated[rows])
