"""Lays the layers of a model that is too large for one GPU over several of this process's.

A pass goes through the GPUs one after another, so it computes what it computes on one: no sum is cut, and the
number of GPUs is in no hash. Tensor parallelism would be faster, but needs a process for each GPU, rounds
differently with their number, and would take models' own plans for it on trust. transformers and accelerate
place whole layers by their sizes and move the states between them; packed passes bring their masks along
(``tree_attention``). Scores are proven on these GPUs as on one (``self_check``).
"""

from __future__ import annotations

from typing import Any

from tasks.engines.local import memory
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec


def arguments(spec: EngineSpec, source: str) -> dict[str, Any]:
    """Return the arguments of ``from_pretrained`` that spread a model over GPUs; {} if one device holds it.

    Args:
        source: folder or Hugging Face id of the weights.
    """
    n = memory.own_gpus(spec, source)
    if n == 1:
        return {}
    return {"device_map": "balanced", "max_memory": {i: memory.budget(f"cuda:{i}") for i in range(n)}}


def is_spread(name: str, model: Any) -> bool:
    """Return whether a loaded model's layers are on several devices.

    Raises:
        EngineError: some are on none, because the GPUs are too small.
    """
    places = set(getattr(model, "hf_device_map", {}).values())
    if len(places) > 1 and places & {"cpu", "disk"}:
        raise EngineError(too_large(name, model.get_memory_footprint(), "the GPUs here"))
    return len(places) > 1


def too_large(name: str, weights: int, where: str) -> str:
    """Return the message about a model whose weights, in bytes, are larger than all GPUs."""
    return (
        f"model {name!r}: its weights take {weights / memory.GIB:,.1f} GiB, more than {where} can hold: give "
        'more GPUs (--gpus, CUDA_VISIBLE_DEVICES), or take dtype "bfloat16", or a smaller or quantised model'
    )
