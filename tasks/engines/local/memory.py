"""Estimates an engine's memory before it is loaded, and the memory that all engines may take together.

``CULTURESCOPE_ENGINE_MEMORY`` states the sum per device in GiB. Without it, engines on the CPU may take half
of the memory that is available when the first is loaded, and those on a GPU what vLLM takes by itself. So a
vLLM engine has its GPU to itself, unless its options bound it: ``gpu_memory_utilization``, or
``kv_cache_memory_bytes``, which does so on a CPU too.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tasks.engines.local import devices
from tasks.engines.protocols import EngineError
from tasks.engines.specs import WITHOUT_WEIGHTS, EngineSpec, resolved
from tasks.parsing import parse_json

VARIABLE = "CULTURESCOPE_ENGINE_MEMORY"
GIB = 2**30
CPU_SHARE = 0.5
GPU_SHARE = 0.92
"""vLLM's own default of ``gpu_memory_utilization``; stated to it, so that it stays what is counted here."""
BOUNDS = frozenset({"gpu_memory_utilization", "kv_cache_memory_bytes"})
"""Options of a vLLM engine by which it takes less than its GPU."""
CPU_KV_CACHE_BYTES = 2 * GIB
VLLM_PROCESSES = 3 * GIB // 2
"""Code and buffers of vLLM's core and worker process, without weights and cache; measured on a CPU."""
SLACK = 1.25
"""On top of the weights: activations, and what the allocator keeps."""
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_MOST_HEADER = 100_000_000
"""Bytes that the header of a safetensors file may have, as its library has it."""


@dataclass(frozen=True)
class Claim:
    """The memory that an engine takes, in bytes, and of which device: "cpu", "cuda:0" …

    A Ray cluster is one device, of which a GPU counts as a GiB: whether a model fits is its nodes' affair.
    limit: what all engines on the device may take together, where it is no ``budget``.
    """

    device: str
    bytes: int
    limit: int | None = None


def budget(device: str) -> int:
    """Bytes that all engines on a device may take together.

    Raises:
        EngineError: the variable holds no positive number.
    """
    stated = os.environ.get(VARIABLE)
    if not stated:
        return _default_budget(device)
    try:
        gib = float(stated)
    except ValueError:
        gib = math.nan
    if not 0 < gib < math.inf:
        raise EngineError(f"{VARIABLE} is {stated!r}: give the GiB that engines may take, such as 8")
    return int(gib * GIB)


def of_engine(spec: EngineSpec, source: str) -> Claim:
    """The claim of an engine; the whole budget if nothing is known, so that it has the device to itself.

    Args:
        source: folder or Hugging Face id (``embedded.resolve``). An id's size is known once it is downloaded.
    """
    if spec.kind in WITHOUT_WEIGHTS:
        return Claim("cpu", int(spec.options.get("memory_gib", 0) * GIB))
    device = _name(spec.device)
    on_gpu = device.startswith("cuda")
    kv_cache = spec.options.get("kv_cache_memory_bytes")
    if spec.kind == "vllm" and on_gpu and kv_cache is None:
        return Claim(device, int(spec.options.get("gpu_memory_utilization", GPU_SHARE) * _total(device)))
    tensors = _tensor_sizes(source, spec.revision)
    if not tensors:
        return Claim(device, budget(device))
    if spec.kind == "vllm":
        return Claim(device, (without_kv_cache(spec, source) or 0) + (kv_cache or _cpu_kv_cache()))
    weights = sum(tensors) * (4 if resolved(spec).dtype == "float32" else 2)
    head = 4 * max(tensors)  # its copy in float32; no other matrix is as large
    return Claim(device, int(SLACK * (weights + head)))


def on_gpu(spec: EngineSpec) -> bool:
    """Whether an engine would run on a GPU."""
    return _name(spec.device).startswith("cuda")


def gpu_bytes() -> int:
    """Bytes of the first GPU, in use or not."""
    return _total("cuda:0")


def is_known(spec: EngineSpec, source: str) -> bool:
    """Whether an engine's claim can be estimated before its model is downloaded; see ``of_engine``."""
    return spec.kind in WITHOUT_WEIGHTS or bool(_tensor_sizes(source, spec.revision))


def without_kv_cache(spec: EngineSpec, source: str) -> int | None:
    """Bytes that a vLLM engine takes beside its KV cache, estimated; None: nothing is known.

    Args:
        source: folder or Hugging Face id (``embedded.resolve``).
    """
    tensors = _tensor_sizes(source, spec.revision)
    if not tensors:
        return None
    weights = sum(tensors) * (4 if resolved(spec).dtype == "float32" else 2)
    weights //= spec.options.get("tensor_parallel_size", spec.tensor_parallel)
    return int(SLACK * weights) + VLLM_PROCESSES


def of_embedder(source: str) -> Claim:
    """The claim of an embedder, see ``of_engine``; source is a file, a folder or a Hugging Face id."""
    path = Path(source).expanduser()
    if path.is_file():  # word vectors: text is read through, a .bin is unpacked into memory
        return Claim("cpu", 0 if path.suffix == ".vec" else 2 * path.stat().st_size)
    device = _name("auto")
    tensors = _tensor_sizes(source, None)
    return Claim(device, int(SLACK * 4 * sum(tensors)) if tensors else budget(device))


@cache
def _default_budget(device: str) -> int:
    """Without the variable; the memory is looked at once, before engines take theirs."""
    if device.startswith("cuda"):
        return int(GPU_SHARE * _total(device))
    available = psutil.virtual_memory().available
    limit = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.is_file() else "max"
    return int(CPU_SHARE * (available if limit == "max" else min(available, int(limit))))


def _total(device: str) -> int:
    """Bytes of a GPU, in use or not."""
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory)


def _name(device: str) -> str:
    """One name per device: "cuda" is "cuda:0"."""
    chosen = devices.device(device)
    return f"cuda:{chosen.index or 0}" if chosen.type == "cuda" else chosen.type


def _cpu_kv_cache() -> int:
    """Bytes that vLLM's CPU build takes for its cache where a spec does not say."""
    return int(float(os.environ.get("VLLM_CPU_KVCACHE_SPACE") or 0) * GIB) or CPU_KV_CACHE_BYTES


def _tensor_sizes(source: str, revision: str | None) -> list[int]:
    """Elements of every weight in the safetensors of a folder or downloaded model; [] if not known.

    What is wrong with its files the library says that loads them.
    """
    try:
        return _sizes_of_tensors(source, revision)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _sizes_of_tensors(source: str, revision: str | None) -> list[int]:
    folder = Path(source).expanduser()
    if not folder.is_dir():
        from huggingface_hub import try_to_load_from_cache

        config = try_to_load_from_cache(source, "config.json", revision=revision)
        if not isinstance(config, str):
            return []
        folder = Path(config).parent
    files = sorted(folder.rglob("model*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        weights = parse_json(index.read_text(encoding="utf-8"))["weight_map"]
        files = [folder / name for name in sorted(set(weights.values()))]
    if not all(file.is_file() for file in files):  # a download that is not finished
        return []
    return [math.prod(tensor["shape"]) for file in files for tensor in _header(file).values()]


def _header(file: Path) -> dict[str, Any]:
    """Name -> dtype and shape of a safetensors file's tensors: 8 bytes of length, then JSON."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if length > _MOST_HEADER:
            raise ValueError(f"{file}: a header of {length} bytes")
        header: dict[str, Any] = parse_json(opened.read(length))
    header.pop("__metadata__", None)
    return header
