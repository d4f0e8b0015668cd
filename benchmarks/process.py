"""One measurement in a process of its own, so that its peak memory and caches are its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

TIMEOUT_S = 3600

Result = dict[str, Any]
"""What a worker returns, with ``peak_bytes``."""


class WorkerError(RuntimeError):
    """A measurement could not be made; the message is its last line."""


def measure(what: str, **arguments: object) -> Result:
    """Run ``benchmarks.worker`` in a fresh interpreter and wait for it.

    This process imports nothing large: Linux counts the memory of the process that starts another towards
    the peak of the one it starts.

    Raises:
        WorkerError: the worker ended without a result.
    """
    command = [sys.executable, "-m", "benchmarks.worker", what, json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise WorkerError(f"no result after {TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise WorkerError((done.stderr.strip() or "no output").splitlines()[-1])
    result: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def peak(result: Result) -> str:
    """ "(peak 2.1 GiB)" """
    return f"(peak {result['peak_bytes'] / 2**30:.1f} GiB)"


def show(*lines: str) -> None:
    """Print lines at once, so that a long run shows how far it has come."""
    print(*lines, sep="\n", flush=True)
