"""Chooses the device of a model, its precision there, and the size of one pass.

torch is imported only inside functions that need it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import EngineError

if TYPE_CHECKING:
    import torch

AutoDtype = Literal["float32", "bfloat16"]

CPU_INFO = Path("/proc/cpuinfo")
BFLOAT16_FLAG = "amx_bf16"
"""Flag of CPUs that multiply bfloat16 several times as fast as float32; most others emulate it at a twentieth
of float32's speed."""
ISA_LIMIT = "ONEDNN_MAX_CPU_ISA"
"""Environment variable that keeps oneDNN, which multiplies, from instructions that the CPU has."""
WITH_AMX = ("DEFAULT", "ALL")
"""Its values, beside those that name AMX, that allow the instructions of ``BFLOAT16_FLAG``."""

AMD, AVX512 = "AuthenticAMD", "avx512f"
"""Names of a vendor and of instructions in the kernel's lines (``has_faster_onednn``)."""
MIG = "MIG-"
"""Beginning of a MIG device's name."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def device(name: str) -> torch.device:
    """Return the device of a spec; "auto" is the GPU if there is one, else the CPU.

    Raises:
        EngineError: the device is unknown to torch, or this machine has none.
    """
    _prepare_cuda()
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(name)
    except RuntimeError as error:
        raise EngineError(f"unknown device {name!r}: {str(error).splitlines()[0]}") from error
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise EngineError(
            f"this machine has no device {name!r} that torch can use ({torch.cuda.device_count()} GPUs): set "
            'device = "auto" or "cpu"'
        )
    return chosen


def _prepare_cuda() -> None:
    """Set what CUDA reads once, when a process first uses it, unless the user has set it.

    Passes have many widths: segments that grow leave no gaps of memory between them. And cuBLAS computes
    the same numbers again only with workspaces of a fixed size.
    """
    if "PYTORCH_ALLOC_CONF" not in os.environ:
        os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def multiply_exactly() -> None:
    """Let GPUs multiply float32 in float32, not TF32, and sum half precision in float32, whatever another
    library has set in this process.
    """
    import torch

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = "ieee"
        cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "ieee"  # type: ignore[attr-defined]
    else:
        matmul.allow_tf32 = cudnn.allow_tf32 = False
    matmul.allow_bf16_reduced_precision_reduction = False
    matmul.allow_fp16_reduced_precision_reduction = False
    cudnn.benchmark = False


def visible_gpus() -> list[str]:
    """Return the GPUs of this process by their names in CUDA_VISIBLE_DEVICES (numbers, or UUIDs of GPUs or
    MIG devices); none if torch finds none.

    A process sees only the first of several MIG devices, but another process may be given another.
    """
    import torch

    n = torch.cuda.device_count()
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(n)))).split(",")
    names = [name.strip() for name in names]
    return names if n and all(name.startswith(MIG) for name in names) else names[:n]


def gpus() -> list[str]:
    """Return name, memory and compute capability of every GPU that torch can use."""
    import torch

    found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, {gpu.major}.{gpu.minor}" for gpu in found]


def processor() -> str:
    """Return the kernel's line with the processor's name."""
    return _cpu_line("model name") or platform.processor()


def flags() -> str:
    """Return the kernel's line with the processor's instructions."""
    return _cpu_line("flags")


@cache
def has_faster_onednn() -> bool:
    """Return whether oneDNN multiplies float32 faster than MKL: on AMD's processors with AVX-512."""
    import torch

    limit = os.environ.get(ISA_LIMIT, "").upper()
    is_allowed = not limit or limit in WITH_AMX or limit.startswith(("AVX512", "AVX10"))
    is_amd = AMD in _cpu_line("vendor_id") and AVX512 in flags().split()
    return is_amd and is_allowed and torch._C._has_mkldnn


def _cpu_line(name: str) -> str:
    """Return the kernel's line of this name about the first processor; "" if there is none."""
    try:
        lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # another system than Linux
        return ""
    return next((line for line in lines if line.startswith(name)), "")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def auto_dtype(name: str) -> AutoDtype:
    """Return the precision of dtype "auto" on a device: bfloat16 where the hardware has it, else float32.

    A rule by the device's own properties, never a measurement: equal machines are the same engine, however
    busy they are. On a GPU it is native bfloat16, on a CPU the flag ``BFLOAT16_FLAG`` if oneDNN may use it.

    Raises:
        EngineError: see ``device``.
    """
    import torch

    chosen = device(name)
    if chosen.type == "cuda":
        with torch.cuda.device(chosen):
            is_native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        limit = os.environ.get(ISA_LIMIT, "").upper()
        is_allowed = not limit or limit in WITH_AMX or "AMX" in limit
        is_native = chosen.type == "cpu" and is_allowed and BFLOAT16_FLAG in flags().split()
    return "bfloat16" if is_native else "float32"


def keep_freed_memory() -> None:
    """Make glibc reuse freed memory instead of returning it to the kernel after every operation.

    A pass allocates the same large temporaries in every layer; mapping and clearing their pages each time
    took about a third of the time on two cores. Without glibc this does nothing.

    Large pages, if the kernel grants them on request, save another tenth on a CPU with AMX. torch reads the
    variable at the first large allocation of a process.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def batches(lengths: Sequence[int] | NDArray[np.int64], budget: int) -> Iterator[NDArray[np.int64]]:
    """Yield indices of sequences in batches of similar lengths, at most ``budget`` tokens each with padding.

    The shortest come first. A sequence that is longer than the budget is a batch of its own.
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop - start + 1) * lengths[order[stop]] <= budget:
            stop += 1
        yield order[start:stop]
        start = stop
