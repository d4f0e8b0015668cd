"""Runs one measurement in a separate process, so that it has its own peak memory and caches.

That process runs ``python -m benchmarks.process module function arguments``.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

TIMEOUT_S = 3600

Result = dict[str, Any]
"""Result of a measurement, including ``peak_bytes``."""


class WorkerError(RuntimeError):
    """A measurement failed; the message is the last line of its output."""


def measure(function: Callable[..., Result], timeout: float = TIMEOUT_S, **arguments: object) -> Result:
    """Return the result of one of our functions, called in a new interpreter.

    Raises:
        WorkerError: it ended without a result, or had none after ``timeout`` seconds.
    """
    name = [function.__module__, function.__name__]
    command = [sys.executable, "-m", "benchmarks.process", *name, json.dumps(arguments)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise WorkerError(f"no result after {timeout:.0f} s") from error
    if process.returncode != 0:
        raise WorkerError((process.stderr.strip() or "no output").splitlines()[-1])
    result: Result = json.loads(process.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Call the named function and print its result, with the peak memory, as a line of JSON.

    The peak is that of this process plus that of its largest ended child. VmHWM is read for this process,
    because Linux includes the parent process in getrusage's value. Output of libraries goes to standard
    error.
    """
    module, name, arguments = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    result = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kib = int(status["VmHWM"].split()[0]) + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps(result | {"peak_bytes": kib * 1024}), file=answer, flush=True)


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of the calls, after a first one that does not count."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def peak(result: Result) -> str:
    """Return the peak memory as a text such as "(peak 2.1 GiB)"."""
    return f"(peak {result['peak_bytes'] / 2**30:.1f} GiB)"


def show(*lines: str) -> None:
    """Print lines immediately, without buffering."""
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
