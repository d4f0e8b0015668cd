"""Texts to vectors: the protocol, and from a name to a loaded embedder.

``sentence_embedder`` runs sentence-transformers models, ``fasttext_vectors`` reads word-vector files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.engines import embedded_encoder
from tasks.engines.embedded_encoder import PREFIX
from tasks.engines.protocols import EngineError

DEFAULT = "embedded:all-minilm-l6-v2"

Progress = Callable[[int], None]
"""Called with the number of texts just embedded."""


@dataclass(frozen=True)
class Embedded:
    """The vectors of n texts, in their order.

    Attributes:
        vectors: float32 [n, d]. A row of zeros means that the text has no vector; no value is NaN.
        n_truncated: how many texts were longer than the model reads, so that their end was left out.
    """

    vectors: NDArray[np.float32]
    n_truncated: int

    @property
    def n_missing(self) -> int:
        """How many texts have no vector."""
        return int((~self.vectors.any(axis=1)).sum())


class Embedder(Protocol):
    """Gives texts vectors whose cosines measure likeness. Lengths are the model's own, not always 1."""

    @property
    def name(self) -> str:
        """Identifies the vectors in hashes: the model and its commit, or a name and a SHA-256 of content."""
        ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Embed all texts; a row depends on its own text only, within 1e-5."""
        ...


def load_embedder(
    source: str, cache: Path, revision: str | None = None, stage: Callable[[str], None] | None = None
) -> Embedder:
    """An embedder, ready to use.

    Args:
        source: ``embedded:all-minilm-l6-v2``, a fastText ``.vec`` or ``.bin`` file, the folder of a
            sentence-transformers model, or its Hugging Face id.
        cache: folder of the embedded models, ``$CULTURESCOPE_HOME/models``.
        revision: commit, tag or branch, for a Hugging Face id only.
        stage: told what is being done while an embedded model is fetched.

    Raises:
        EngineError: nothing to load there; the message says what to do.
    """
    # Imported where needed: torch takes seconds, and a .vec file needs none of it.
    path = Path(source).expanduser()
    if path.suffix in (".vec", ".bin"):
        from tasks.engines.fasttext_vectors import BinVectors, VecVectors

        return VecVectors(path) if path.suffix == ".vec" else BinVectors(path)

    from tasks.engines.sentence_embedder import SentenceEmbedder, from_folder, from_hub

    if source.startswith(PREFIX):
        name = source.removeprefix(PREFIX)
        folder = embedded_encoder.prepare(name, cache, stage)
        return SentenceEmbedder(f"{name} sha256:{embedded_encoder.find(name).wheel_sha256}", str(folder))
    if path.is_absolute() or source.startswith((".", "~")) or path.exists():
        return from_folder(path)
    if source.count("/") == 1:
        return from_hub(source, revision)
    raise EngineError(
        f"there is no embedder {source!r}: give {DEFAULT}, a .vec or .bin file (unpacked, not .gz), the "
        "folder of a sentence-transformers model, or its Hugging Face id (owner/name)"
    )
