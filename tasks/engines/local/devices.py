"""Chooses the device of a model, its fastest precision there, and the size of one pass.

torch is imported only inside functions that need it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from tasks.engines.protocols import EngineError

if TYPE_CHECKING:
    import torch

FastDtype = Literal["float32", "bfloat16"]

FORMER_RECORD = "engines"
"""Earlier folder of the record. Its dtype is still used, because stored engine hashes contain it."""
SHAPE = (128, 576, 1536)
"""Rows, inputs and outputs of the timed product: a batch through a wide layer of a small model."""
SECONDS = 0.1
CLEARLY_FASTER = 1.2
"""Least speed of bfloat16 over float32 at which it is chosen, so that noise does not decide."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h

_timing = Lock()


def device(name: str) -> torch.device:
    """Return the device of a spec; "auto" is the GPU if there is one, else the CPU.

    Raises:
        EngineError: the device is unknown to torch, or this machine has none.
    """
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


def visible_gpus() -> list[str]:
    """Return the GPUs of this process by their names in CUDA_VISIBLE_DEVICES; none if torch finds none."""
    import torch

    n = torch.cuda.device_count()
    return os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(n)))).split(",")[:n]


def gpus() -> list[str]:
    """Return name, memory and compute capability of every GPU that torch can use."""
    import torch

    found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, {gpu.major}.{gpu.minor}" for gpu in found]


def processor() -> str:
    """Return the kernel's line with the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line for line in lines if line.startswith("model name")), platform.processor())


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fastest_dtype(name: str, record: Path | None = None) -> FastDtype:
    """Return float32 or bfloat16, whichever the device multiplies faster; timed once per process and device.

    Most CPUs emulate bfloat16 at a twentieth of float32's speed; with AMX it is several times as fast. CPU
    flags do not show what the libraries achieve with them, so a product is timed.

    Args:
        record: folder with the timed result for this CPU. Precision is part of an engine's identity, so a
            busy moment must not change it.

    Raises:
        EngineError: see ``device``.
    """
    with _timing:
        return _fastest_dtype(str(device(name)), record)


@cache
def _fastest_dtype(name: str, record: Path | None = None) -> FastDtype:
    import torch

    if name.startswith("cuda"):
        with torch.cuda.device(name):
            native = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if native else "float32"
    if name != "cpu":
        return "float32"
    if record is None:
        return _timed()
    record.mkdir(parents=True, exist_ok=True)
    file = record / f"faster-dtype-{sha256(_cpu().encode()).hexdigest()[:16]}"
    with FileLock(f"{file}.lock"):
        for path in (file, record.parent / FORMER_RECORD / file.name):
            for dtype in ("float32", "bfloat16"):
                if path.exists() and path.read_text() == dtype:
                    return dtype
        file.write_text(timed := _timed())
    return timed


def _cpu() -> str:
    """Return everything that a product's speed depends on: processor, libraries, and their limits."""
    import torch

    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    return "\n".join([processor(), torch.__version__, torch.backends.cpu.get_cpu_capability(), limit])


def _timed() -> FastDtype:
    seconds = _seconds_of_products()
    return "bfloat16" if seconds["float32"] >= CLEARLY_FASTER * seconds["bfloat16"] else "float32"


def _seconds_of_products() -> dict[str, float]:
    """Return the seconds of each dtype's fastest product; they take turns, so a busy moment affects both."""
    import torch

    keep_freed_memory()
    rows, inputs, outputs = SHAPE
    pairs = {
        str(dtype).removeprefix("torch."): (
            torch.ones(rows, inputs, dtype=dtype),
            torch.ones(outputs, inputs, dtype=dtype),
        )
        for dtype in (torch.float32, torch.bfloat16)
    }
    best = dict.fromkeys(pairs, float("inf"))
    for pair in pairs.values():
        torch.nn.functional.linear(*pair)  # the first call sets kernels up
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        for dtype, pair in pairs.items():
            start = time.process_time()
            torch.nn.functional.linear(*pair)
            best[dtype] = min(best[dtype], time.process_time() - start)
    return best


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
