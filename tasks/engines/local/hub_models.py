"""Downloads a model of the Hugging Face hub whole, so that its files are checked like those of a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tasks.engines import content
from tasks.engines.protocols import EngineError
from tasks.engines.specs import PICKLE_ADVICE, EngineSpec, is_allowed

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
"""Names of weights in one file; divided weights have an index of this name."""
WITHOUT_WEIGHTS = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken", "*.py", f"{content.TEMPLATES}/*")
"""Files of a model that are read beside its weights: configuration, tokenizer, templates, code."""


def fetched(spec: EngineSpec) -> Path:
    """Return the folder of a model of the hub at its revision, downloaded now or before.

    Of several copies of the weights only the one that is read is downloaded.

    Raises:
        EngineError: the hub refuses or cannot be reached, or there are only pickles.
    """
    folder = described(spec)
    for name in (SAFE, PICKLED) if is_allowed("pickle") else (SAFE,):
        parts = content.parts_of(folder / f"{name}{content.INDEX}") or [name]
        _files(spec, parts)
        if (folder / parts[0]).is_file():
            return folder
    raise EngineError(f"model {spec.name!r}: there are no safetensors in {spec.model!r}, and {PICKLE_ADVICE}")


def described(spec: EngineSpec) -> Path:
    """Return the folder of a model of the hub with all that is read beside its weights."""
    return _files(spec, WITHOUT_WEIGHTS)


def _files(spec: EngineSpec, patterns: Sequence[str]) -> Path:
    """Return the folder with a repository's files of these names."""
    from huggingface_hub import snapshot_download

    try:
        with content.hub_refusals(spec.model, spec.revision):
            folder = snapshot_download(
                spec.model,
                revision=spec.revision,
                endpoint=os.environ.get("HF_ENDPOINT"),
                allow_patterns=list(patterns),
            )
    except EngineError:
        raise
    except Exception as error:  # the network and the HTTP library may raise anything
        advice = content.ONLINE if content.is_offline() else "go online"
        raise EngineError(
            f"model {spec.model!r} cannot be downloaded whole from huggingface.co ({type(error).__name__}): "
            f"{advice} and run it again; what has arrived is kept"
        ) from error
    return Path(folder)
