"""Estimates an engine's memory before it is loaded, and the memory that all engines may take together.

``CULTUREMETER_ENGINE_MEMORY`` is the limit per device in GiB. Without it, engines on the CPU may take half of
the memory that is available when the first is loaded, and engines on a GPU the share that vLLM takes by
default. So a vLLM engine has its GPU to itself, unless its options bound it: ``gpu_memory_utilization`` or,
on a CPU too, ``kv_cache_memory_bytes``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tasks.engines.local import devices
from tasks.engines.protocols import EngineError
from tasks.engines.specs import WITHOUT_WEIGHTS, EngineSpec, with_dtype
from tasks.parsing import parse_json

VARIABLE = "CULTUREMETER_ENGINE_MEMORY"
GIB = 2**30
CPU_SHARE = 0.5
GPU_SHARE = 0.92
"""vLLM's default of ``gpu_memory_utilization``; passed to it, so that both count with the same value."""
BOUNDS = frozenset({"gpu_memory_utilization", "kv_cache_memory_bytes"})
"""Options with which a vLLM engine takes less than its whole GPU."""
CPU_KV_CACHE_BYTES = 2 * GIB
VLLM_PROCESSES = 3 * GIB // 2
"""Bytes of vLLM's core and worker processes without weights and cache; measured on a CPU."""
SLACK = 1.25
"""Factor on the weights for activations and memory that the allocator holds."""
LOGITS = 32768
"""Logits of a state that exist at once on a GPU."""
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_MAX_HEADER = 100_000_000
"""Most bytes of a safetensors file's header, by the limit of its library."""


@dataclass(frozen=True)
class Claim:
    """The memory that an engine takes, in bytes on each of its devices: "cpu", "cuda:0" …

    A Ray cluster is one device whose unit is the GPU, counted as a GiB; it does not check a model's memory.
    limit: bytes that all engines on the device may take together, in place of ``budget``.
    gpus: number of GPUs over which its layers are spread: the first ones.
    """

    device: str
    bytes: int
    limit: int | None = None
    gpus: int = 1

    @property
    def devices(self) -> tuple[str, ...]:
        """Return its devices: the first GPUs, or the one that it names."""
        return (self.device,) if self.gpus == 1 else tuple(f"cuda:{i}" for i in range(self.gpus))


def budget(device: str) -> int:
    """Return the bytes that all engines on a device may take together.

    Raises:
        EngineError: the variable is not a positive number.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return _default_budget(device)
    try:
        gib = float(text)
    except ValueError:
        gib = math.nan
    if not 0 < gib < math.inf:
        raise EngineError(f"{VARIABLE} is {text!r}: give the GiB that engines may take, such as 8")
    return int(gib * GIB)


def _config(source: str, revision: str | None) -> dict[str, Any]:
    """Return the configuration of a model's text part; {} if it cannot be read."""
    folder = _folder(source, revision)
    with suppress(OSError, ValueError, AttributeError):  # loading the model raises the error
        if folder:
            config: dict[str, Any] = parse_json((folder / "config.json").read_text(encoding="utf-8"))
            return config.get("text_config") or config
    return {}


def _size(config: Mapping[str, Any], name: str, otherwise: int = 0) -> int:
    value = config.get(name)
    return value if isinstance(value, int) and value > 0 else otherwise


def _pass_bytes(spec: EngineSpec, config: Mapping[str, Any], each: int) -> int:
    """Return the bytes of a widest pass on a GPU beside the weights, by the model's configuration.

    They are states and products of one layer, keys and values of all layers, which a shared beginning keeps,
    and logits and their exponentials for a slice of the vocabulary.

    Args:
        each: bytes of a number.
    """
    hidden = _size(config, "hidden_size", 4096)
    heads = _size(config, "num_attention_heads", max(1, hidden // 128))
    head_size = _size(config, "head_dim", hidden // heads)
    cache = 2 * _size(config, "num_hidden_layers", 32) * _size(config, "num_key_value_heads", heads)
    cache *= head_size
    states = 8 * hidden + 3 * _size(config, "intermediate_size", 4 * hidden)
    return spec.batch_tokens * (each * (states + cache) + 2 * 4 * LOGITS)


def gpu_budget(index: int, name: str) -> int:
    """Return the bytes that engines may take on a GPU. name: its own in CUDA_VISIBLE_DEVICES.

    A process sees only the first MIG device, so the others count as equal to it.
    """
    return budget(f"cuda:{0 if name.startswith(devices.MIG) else index}")


def of_engine(spec: EngineSpec, source: str) -> Claim:
    """Return the claim of an engine; the whole budget if its size is unknown, so it gets the device alone.

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
    if spec.kind == "vllm" and (own := without_kv_cache(spec, source)) is not None:
        return Claim(device, own + (kv_cache or _cpu_kv_cache()))
    n = own_gpus(spec, source)
    own = bytes_on_each(spec, source, n)
    return Claim(device, budget(device) if own is None else own, gpus=n)


def bytes_on_each(spec: EngineSpec, source: str, n: int = 1) -> int | None:
    """Return the bytes of a scorer on each of n GPUs that share its layers, or on a CPU; None if its size is
    unknown.

    Of several GPUs one has at most an equal share and one more layer or matrix, as these are never cut.
    """
    tensors = _tensor_sizes(source, spec.revision)
    if not tensors:
        return None
    each, config = bytes_of_number(spec), _config(source, spec.revision)
    head = 4 * max(tensors)  # its copy in float32; no other matrix is as large
    n_layers = _size(config, "num_hidden_layers")
    layer = sum(tensors) // n_layers if n_layers else 4 * max(tensors)
    weights = sum(tensors) if n == 1 else sum(tensors) // n + max(layer, *tensors)
    own = int(SLACK * (weights * each + head))
    return own + (_pass_bytes(spec, config, each) if on_gpu(spec) else 0)


def bytes_of_number(spec: EngineSpec) -> int:
    """Return the bytes of a weight in a spec's precision."""
    return 4 if with_dtype(spec).dtype == "float32" else 2


def weight_bytes(spec: EngineSpec, source: str) -> int:
    """Return the bytes of all weights, without what a pass needs; 0 if they are unknown."""
    return sum(_tensor_sizes(source, spec.revision)) * bytes_of_number(spec)


def gpus_of(spec: EngineSpec, source: str, budgets: Sequence[int]) -> int:
    """Return the number of GPUs of a copy of an engine: its spec's, or, for a ``packed_trie``, the fewest of
    those with these budgets whose memory its layers fit into; all if they do not fit.
    """
    if spec.gpus or spec.kind != "packed_trie":
        return max(1, math.ceil(spec.gpus or spec.tensor_parallel))
    largest = sorted(budgets, reverse=True)
    for n, least in enumerate(largest, start=1):
        if (each := bytes_on_each(spec, source, n)) is None or each <= least:
            return n
    return max(1, len(largest))


def own_gpus(spec: EngineSpec, source: str) -> int:
    """Return the number of this process's GPUs that a scorer takes: 1 on a CPU and on a GPU by its number."""
    if spec.kind != "packed_trie" or ":" in spec.device or not on_gpu(spec):
        return 1
    import torch

    budgets = [budget(f"cuda:{i}") for i in range(torch.cuda.device_count())]
    return min(gpus_of(spec, source, budgets), max(1, len(budgets)))


def on_gpu(spec: EngineSpec) -> bool:
    """Return whether an engine would run on a GPU."""
    return _name(spec.device).startswith("cuda")


def gpu_bytes() -> int:
    """Return all bytes of the first GPU, used or free."""
    return _total("cuda:0")


def is_known(spec: EngineSpec, source: str) -> bool:
    """Return whether an engine's claim can be estimated before its model is downloaded; see ``of_engine``."""
    return spec.kind in WITHOUT_WEIGHTS or bool(_tensor_sizes(source, spec.revision))


def without_kv_cache(spec: EngineSpec, source: str) -> int | None:
    """Return the estimated bytes of a vLLM engine without its KV cache; None if its size is unknown.

    Args:
        source: folder or Hugging Face id (``embedded.resolve``).
    """
    tensors = _tensor_sizes(source, spec.revision)
    if not tensors:
        return None
    weights = weight_bytes(spec, source)
    weights //= spec.options.get("tensor_parallel_size", spec.tensor_parallel)
    return int(SLACK * weights) + VLLM_PROCESSES


def of_embedder(source: str) -> Claim:
    """Return the claim of an embedder, see ``of_engine``. source: a file, a folder or a Hugging Face id."""
    path = Path(source).expanduser()
    if path.is_file():  # word vectors: a .vec is read line by line, a .bin is unpacked into memory
        return Claim("cpu", 0 if path.suffix == ".vec" else 2 * path.stat().st_size)
    device = _name("auto")
    tensors = _tensor_sizes(source, None)
    return Claim(device, int(SLACK * 4 * sum(tensors)) if tensors else budget(device))


@cache
def _default_budget(device: str) -> int:
    """Return the budget without the variable; memory is measured once, before engines take theirs."""
    if device.startswith("cuda"):
        return int(GPU_SHARE * _total(device))
    available = psutil.virtual_memory().available
    limit = CGROUP_LIMIT.read_text().strip() if CGROUP_LIMIT.is_file() else "max"
    return int(CPU_SHARE * (available if limit == "max" else min(available, int(limit))))


def _total(device: str) -> int:
    """Return all bytes of a GPU, used or free."""
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory)


def _name(device: str) -> str:
    """Return one name per device: "cuda" is "cuda:0"."""
    chosen = devices.device(device)
    return f"cuda:{chosen.index or 0}" if chosen.type == "cuda" else chosen.type


def _cpu_kv_cache() -> int:
    """Return the bytes that vLLM's CPU build takes for its cache if the spec sets none."""
    return int(float(os.environ.get("VLLM_CPU_KVCACHE_SPACE") or 0) * GIB) or CPU_KV_CACHE_BYTES


def _tensor_sizes(source: str, revision: str | None) -> list[int]:
    """Return the number of elements of each weight in a folder or downloaded model; [] if unknown.

    Damaged files count as unknown here; the library that loads them raises the error.
    """
    try:
        return _sizes_of_tensors(source, revision)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _sizes_of_tensors(source: str, revision: str | None) -> list[int]:
    if (folder := _folder(source, revision)) is None:
        return []
    files = sorted(folder.rglob("model*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        weights = parse_json(index.read_text(encoding="utf-8"))["weight_map"]
        files = [folder / name for name in sorted(set(weights.values()))]
    if not all(file.is_file() for file in files):  # a download that is not finished
        return []
    return [math.prod(tensor["shape"]) for file in files for tensor in _header(file).values()]


def _folder(source: str, revision: str | None) -> Path | None:
    """Return the folder of a model's files; None if a Hugging Face id is not downloaded."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(source, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def _header(file: Path) -> dict[str, Any]:
    """Return dtype and shape of a safetensors file's tensors by name: 8 bytes of length, then JSON."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > _MAX_HEADER:
            raise ValueError(f"{file}: a header of {length} bytes")
        header: dict[str, Any] = parse_json(stream.read(length))
    header.pop("__metadata__", None)
    return header
