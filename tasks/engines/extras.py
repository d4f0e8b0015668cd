"""The extras of pyproject.toml, and errors on missing modules that name the extra to install."""

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
    "psycopg": "shared",
    "obstore": "shared",
    "inspect_ai": "inspect",
}  # fmt: skip
"""Module -> extra of pyproject.toml that installs it."""


def advice(error: ImportError) -> str | None:
    """Return a line on how to install a missing module; None if no extra has it."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    gpu = " (for an NVIDIA GPU: .[gpu])" if module == "vllm" else ""
    return f"{module} is not installed: {command(EXTRAS[module])} in a checkout brings it{gpu}"


def command(extra: str) -> str:
    """Return the command that installs an extra, in a checkout: no registry has the package yet."""
    return f"pip install '.[{extra}]'"


def check(module: str, user: str) -> None:
    """Raise EngineError with the module's user and extra, if the module is not installed."""
    with needed_by(user):
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


@contextmanager
def needed_by(user: str) -> Iterator[None]:
    """Raise EngineError with the user and the extra, if a module of an extra is missing in the block."""
    try:
        yield
    except ImportError as error:
        if (line := advice(error)) is None:
            raise
        raise EngineError(f"{user}: {line}") from error
