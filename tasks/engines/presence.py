"""Checks whether a model is available, without loading it or sending a request."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tasks.engines import checkpoint
from tasks.engines.content import PREFIX
from tasks.engines.embedders import WORD_VECTORS
from tasks.engines.options import refused
from tasks.engines.specs import EngineSpec

LOCAL_KINDS = ("packed_trie", "masked", "seq2seq", "vllm")


def doubt(spec: EngineSpec) -> str | None:
    """Return a line for a dry run on why a model may be unavailable; None if nothing speaks against it.

    Raises:
        EngineError: the spec names a folder whose model is damaged or missing.
    """
    if spec.is_served and spec.base_url is None and not os.environ.get(spec.key_variable):
        return f"{spec.name}: {spec.key_variable} is not set; a dry run sends nothing to the server"
    if spec.kind not in LOCAL_KINDS:
        return None
    folder = Path(spec.model).expanduser()
    if folder.is_dir():
        checkpoint.check(spec.name, folder)
    if trusted := refused(spec.kind, spec.options):
        return (
            f"{spec.name}: options that may name code or a file are used as you allowed: {', '.join(trusted)}"
        )
    if folder.is_dir() or spec.model.startswith(PREFIX):
        return None
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


def _is_cached(spec: EngineSpec) -> bool:
    """Return whether a Hugging Face model has been downloaded."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(spec.model, "config.json", revision=spec.revision), str)
    except ValueError:  # not a valid name of a repository
        return False
