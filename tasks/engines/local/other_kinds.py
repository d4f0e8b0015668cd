"""Which kind of engine takes an architecture that this one cannot score: vLLM's own list is asked."""

from __future__ import annotations

import os


def served_by(architecture: str, name: str) -> str:
    """Return which kind of engine takes a decoder's architecture, if any does."""
    served = vllm_architectures()
    if served is None:
        return f'kind = "vllm" may serve {name!r}; vLLM is not installed here, so its list cannot be read'
    if architecture in served:
        return f'choose kind = "vllm" for {name!r}'
    return f"vLLM does not list {architecture} either: take another model"


def vllm_architectures() -> set[str] | None:
    """Return the architectures that the installed vLLM lists; None if it is not installed."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        from vllm.model_executor.models.registry import ModelRegistry
    except Exception:  # an incomplete installation may raise anything
        return None
    return set(ModelRegistry.get_supported_archs())
