"""Checks whether a model is available, without loading it or sending a request."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tasks.engines.content import PREFIX, WEIGHTS
from tasks.engines.embedders import WORD_VECTORS
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.parsing import parse_json

LOCAL_KINDS = ("packed_trie", "masked", "seq2seq", "vllm")


def doubt(spec: EngineSpec) -> str | None:
    """Return a line for a dry run on why a model may be unavailable; None if nothing speaks against it.

    Raises:
        EngineError: the spec names a folder without a model.
    """
    if spec.is_served and spec.base_url is None and not os.environ.get(spec.key_variable):
        return f"{spec.name}: {spec.key_variable} is not set; a dry run sends nothing to the server"
    if spec.kind not in LOCAL_KINDS or spec.model.startswith(PREFIX):
        return None
    folder = Path(spec.model).expanduser()
    if folder.is_dir():
        return _check_folder(spec, folder)
    if folder.is_absolute() or spec.model.startswith((".", "~")) or _is_cached(spec):
        return None
    return f"{spec.name}: {spec.model} is not on this machine; a dry run does not look on the hub"


def embedder_doubt(source: str) -> str | None:
    """Return a line for a plan if this installation cannot load an embedder, else None."""
    if Path(source).suffix in WORD_VECTORS or find_spec("sentence_transformers") is not None:
        return None
    return (
        f"{source} cannot run in this install: answers are stored, and the numbers that need it follow once "
        "pip install '.[local]' in a checkout has installed its dependencies"
    )


def _check_folder(spec: EngineSpec, folder: Path) -> str | None:
    """Return a line if a model's folder has no weights, else None; raises EngineError if it has no model."""
    file = folder / "config.json"
    try:
        config = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"model {spec.name!r}: {file} cannot be read: {error}") from error
    if not isinstance(config, dict) or not (config.get("model_type") or config.get("architectures")):
        raise EngineError(
            f"model {spec.name!r}: {file} names neither model_type nor architectures: it describes no model"
        )
    if not any(path.suffix in WEIGHTS for path in folder.iterdir()):
        return f"{spec.name}: there are no weights ({', '.join(WEIGHTS)}) in {folder}; not verified"
    return None


def _is_cached(spec: EngineSpec) -> bool:
    """Return whether a Hugging Face model has been downloaded."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(spec.model, "config.json", revision=spec.revision), str)
    except ValueError:  # not a valid name of a repository
        return False
