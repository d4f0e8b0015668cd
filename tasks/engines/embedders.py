"""Identifies an embedder by its content, and loads it.

``sentence_embedder`` runs sentence-transformers models; ``fasttext_vectors`` reads word-vector files.
"""

from __future__ import annotations

from pathlib import Path

from tasks.engines.content import FOLDER, HUB, PACKAGE, PREFIX, is_read, of_files
from tasks.engines.local import embedded
from tasks.engines.local.embedded import DEFAULT, ENCODERS
from tasks.engines.local.fasttext_vectors import VecVectors, file_name
from tasks.engines.protocols import Embedder, EngineError

WORD_VECTORS, BINARY = ".vec", ".bin"
MARKER = "modules.json"
"""A file of every sentence-transformers model."""


def embedder_name(source: str) -> str:
    """Return the ``name`` of a source's embedder in hashes, without loading its weights.

    It is the content of a file or folder, the pin of a package, or the commit of a Hugging Face id, and never
    a path: other vectors under an old name are another embedder, and a moved folder is the same one.

    Raises:
        EngineError: nothing can be loaded there; the message says what to do.
    """
    path = Path(source).expanduser()
    if path.suffix == WORD_VECTORS:
        return file_name(path)
    if path.suffix == BINARY:
        raise EngineError(
            f"fastText's binary format is not read: give the .vec file of the vectors in {source}"
        )
    if source.startswith(PREFIX):
        name = source.removeprefix(PREFIX)
        return PACKAGE + embedded.find(name, ENCODERS).sha256
    if _is_folder(source):
        return _folder_name(path)
    if source.count("/") == 1:
        return HUB + _commit(source)
    raise EngineError(
        f"unknown embedder {source!r}: give {DEFAULT}, a .vec file (unpacked, not .gz), the "
        "folder of a sentence-transformers model, or its Hugging Face id (owner/name)"
    )


def load_embedder(source: str, cache: Path) -> Embedder:
    """Return an embedder, ready to use.

    Args:
        source: ``embedded:all-minilm-l6-v2``, a fastText ``.vec`` file, the folder of a sentence-transformers
            model, or its Hugging Face id.
        cache: folder of the embedded models, ``$CULTUREMETER_HOME/models``.

    Raises:
        EngineError: nothing can be loaded there; the message says what to do.
    """
    location = resolve(source, cache)
    path = Path(location)
    if path.suffix == WORD_VECTORS:
        return VecVectors(path)

    name = embedder_name(source)
    from tasks.engines.local.sentence_embedder import SentenceEmbedder  # torch takes seconds

    commit = None if path.is_dir() else name.removeprefix(HUB)
    return SentenceEmbedder(name, location, commit)


def resolve(source: str, cache: Path) -> str:
    """Return the file, folder or Hugging Face id of an embedder; an embedded model is prepared."""
    if source.startswith(PREFIX):
        return str(embedded.prepare(source.removeprefix(PREFIX), cache, among=ENCODERS))
    path = Path(source).expanduser()
    return str(path) if path.suffix == WORD_VECTORS or _is_folder(source) else source


def _is_folder(source: str) -> bool:
    path = Path(source).expanduser()
    return path.is_absolute() or source.startswith((".", "~")) or path.exists()


def _folder_name(folder: Path) -> str:
    """Return a hash over the names and contents of a folder's files, without texts about it."""
    if not (folder / MARKER).is_file():
        raise EngineError(
            f"there is no {MARKER} in {folder}; give a folder that sentence-transformers saved, or {DEFAULT}"
        )
    return FOLDER + of_files(
        folder, [path for path in folder.rglob("*") if path.is_file() and is_read(path.relative_to(folder))]
    )


def _commit(model: str) -> str:
    """Return the current commit of a Hugging Face id."""
    from huggingface_hub import errors, hf_hub_download

    try:
        marker = hf_hub_download(model, MARKER)
    except errors.RemoteEntryNotFoundError as error:
        raise EngineError(f"{model!r} has no {MARKER}: not a sentence-transformers model") from error
    except Exception as error:  # the network and the HTTP library may raise anything
        raise EngineError(
            f"cannot fetch {model!r} from Hugging Face ({type(error).__name__}): "
            f"check the spelling and the network, give a local folder, or use {DEFAULT}"
        ) from error
    return Path(marker).parent.name  # the path in the cache is snapshots/<commit>/<file>
