"""The extras of pyproject.toml, and errors that name the extra with a missing module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tasks.engines.protocols import EngineError

LOCAL = "local"
EXTRAS = {
    **dict.fromkeys(
        (
            "torch", "transformers", "sentence_transformers", "accelerate", "gguf", "huggingface_hub",
            "safetensors", "tokenizers",
        ),
        LOCAL,
    ),
    "vllm": "cpu",
    "ray": "ray",
    "gensim": "fasttext",
    "psycopg": "shared",
    "obstore": "shared",
    "inspect_ai": "inspect",
}  # fmt: skip
"""Maps a module to the extra of pyproject.toml that installs it."""


def advice(error: ImportError) -> str | None:
    """Return a line on how to install a module of an extra; None if no extra has it."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    other = " (for an NVIDIA GPU: culturescope[gpu])" if module == "vllm" else ""
    return f"{module} is not installed: pip install 'culturescope[{EXTRAS[module]}]' brings it{other}"


def check(module: str, what: str) -> None:
    """Raise EngineError that names the user and the extra of a module, if it is not installed."""
    with needed_by(what):
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Raise EngineError that names the user and the extra, if the block lacks a module of an extra."""
    try:
        yield
    except ImportError as error:
        if (words := advice(error)) is None:
            raise
        raise EngineError(f"{what}: {words}") from error
