"""Runs one measurement in a separate process, so that peak memory and caches are its own.

As a program (``python -m benchmarks.process module function arguments``) it is that process.
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
"""Result of a measurement, with ``peak_bytes``."""


class WorkerError(RuntimeError):
    """A measurement could not be made; the message is its last line."""


def measure(what: Callable[..., Result], **arguments: object) -> Result:
    """Call a function of ours in a fresh interpreter and wait for it.

    Raises:
        WorkerError: it ended without a result.
    """
    name = [what.__module__, what.__name__]
    command = [sys.executable, "-m", "benchmarks.process", *name, json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise WorkerError(f"no result after {TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise WorkerError((done.stderr.strip() or "no output").splitlines()[-1])
    result: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Call the named function and print what it returns, with the peak memory, as a line of JSON.

    The peak is this process's and the largest of its ended children's. For itself it reads VmHWM, because
    Linux includes the parent process in getrusage's value. Whatever libraries print to standard output goes
    to standard error.
    """
    module, name, arguments = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    result = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kib = int(status["VmHWM"].split()[0]) + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps(result | {"peak_bytes": kib * 1024}), file=answer, flush=True)


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of the calls, after one that warms up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def peak(result: Result) -> str:
    """ "(peak 2.1 GiB)" """
    return f"(peak {result['peak_bytes'] / 2**30:.1f} GiB)"


def show(*lines: str) -> None:
    """Print lines immediately, so that a long run shows its progress."""
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
