"""Texts to vectors: the protocol, and from a source to the embedder's name and to a loaded embedder.

``sentence_embedder`` runs sentence-transformers models, ``fasttext_vectors`` reads word-vector files.
"""

from __future__ import annotations

import hashlib
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

WORD_VECTORS = (".vec", ".bin")
MARKER = "modules.json"
"""The file that every sentence-transformers model has."""

Progress = Callable[[int], None]
"""Called with the number of texts just embedded."""


@dataclass(frozen=True)
class Embedded:
    """The vectors of n texts, in their order.

    Attributes:
        vectors: float32 [n, d]. A row of zeros means that the text has no vector; no value is NaN.
        n_tokens: int64 [n] tokens of each whole text, special ones included; words for word vectors.
        truncated: bool [n]. The text is longer than the model reads, so its end was left out.
    """

    vectors: NDArray[np.float32]
    n_tokens: NDArray[np.int64]
    truncated: NDArray[np.bool_]

    @property
    def n_truncated(self) -> int:
        """How many texts were cut off."""
        return int(self.truncated.sum())

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


def embedder_name(source: str, revision: str | None = None) -> str:
    """The ``name`` that ``load_embedder`` would give this source's embedder, without loading any weights.

    Files and folders are read in full for their hash; a Hugging Face id costs a look at its commit.

    Raises:
        EngineError: nothing to load there; the message says what to do.
    """
    path = Path(source).expanduser()
    if path.suffix in WORD_VECTORS:
        from tasks.engines.fasttext_vectors import file_name

        return file_name(path)
    if source.startswith(PREFIX):
        name = source.removeprefix(PREFIX)
        return f"{name} sha256:{embedded_encoder.find(name).wheel_sha256}"
    if _is_folder(source):
        return _folder_name(path)
    if source.count("/") == 1:
        return f"{source}@{_commit(source, revision)}"
    raise EngineError(
        f"there is no embedder {source!r}: give {DEFAULT}, a .vec or .bin file (unpacked, not .gz), the "
        "folder of a sentence-transformers model, or its Hugging Face id (owner/name)"
    )


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
    if path.suffix in WORD_VECTORS:
        from tasks.engines.fasttext_vectors import BinVectors, VecVectors

        return VecVectors(path) if path.suffix == ".vec" else BinVectors(path)

    from tasks.engines.sentence_embedder import SentenceEmbedder

    name = embedder_name(source, revision)
    if source.startswith(PREFIX):
        folder = embedded_encoder.prepare(source.removeprefix(PREFIX), cache, stage)
        return SentenceEmbedder(name, str(folder))
    if _is_folder(source):
        return SentenceEmbedder(name, str(path))
    return SentenceEmbedder(name, source, name.rpartition("@")[2])


def _is_folder(source: str) -> bool:
    path = Path(source).expanduser()
    return path.is_absolute() or source.startswith((".", "~")) or path.exists()


def _folder_name(folder: Path) -> str:
    """The folder's own name and a SHA-256 over the names and content of its files."""
    if not (folder / MARKER).is_file():
        raise EngineError(
            f"there is no {MARKER} in {folder}; give a folder that sentence-transformers saved, or {DEFAULT}"
        )
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return f"{folder.resolve().name} sha256:{digest.hexdigest()}"


def _commit(model: str, revision: str | None) -> str:
    """The commit that a Hugging Face id's revision means now."""
    from huggingface_hub import errors, hf_hub_download

    try:
        marker = hf_hub_download(model, MARKER, revision=revision)
    except errors.RemoteEntryNotFoundError as error:
        raise EngineError(f"{model!r} has no {MARKER}: not a sentence-transformers model") from error
    except Exception as error:  # whatever the network and the HTTP library may raise
        raise EngineError(
            f"Hugging Face gives no {model!r} at revision {revision or 'main'!r} ({type(error).__name__}): "
            f"check the spelling and the network, give a local folder, or use {DEFAULT}"
        ) from error
    return Path(marker).parent.name  # the cache is laid out as snapshots/<commit>/<file>
