"""Ends vLLM's processes when the process that started them is killed.

vLLM ends its engine core and workers on every orderly exit. After kill -9, also by the kernel if memory is
short, they keep running with the model in memory. ``start`` runs this file as a small separate process. It
checks once a second whether its parent is alive, and afterwards ends the processes that are left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

INTERVAL_SECONDS = 1.0
STARTING_SECONDS = 60.0
TITLE = "VLLM::"
"""Beginning of the titles of vLLM's processes, once they have started."""


def start() -> subprocess.Popen[bytes]:
    """Return a process that guards this one; terminate it when all processes of vLLM have ended."""
    return subprocess.Popen(
        [sys.executable, __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a kill of our process group must not end the guard
    )


def watch(parent: int) -> None:
    """Watch the parent's descendants while it lives; afterwards end those of vLLM.

    A process that was just starting gets its title later, so the search lasts ``STARTING_SECONDS``.
    """
    known: dict[int, psutil.Process] = {}
    while os.getppid() == parent:
        try:
            known = {p.pid: p for p in psutil.Process(parent).children(recursive=True)}
        except psutil.NoSuchProcess:
            break
        time.sleep(INTERVAL_SECONDS)
    known.pop(os.getpid(), None)
    deadline = time.monotonic() + STARTING_SECONDS
    while known and time.monotonic() < deadline:
        for process in list(known.values()):
            _end(process, known)
        time.sleep(INTERVAL_SECONDS)


def _end(process: psutil.Process, known: dict[int, psutil.Process]) -> None:
    """Kill a process of vLLM with its children, and drop it once it is gone; a reused id is left alone."""
    try:
        if not process.is_running():
            known.pop(process.pid, None)
        elif "".join(process.cmdline()[:1]).startswith(TITLE):
            known.update({child.pid: child for child in process.children(recursive=True)})
            process.kill()
    except psutil.NoSuchProcess:
        known.pop(process.pid, None)


if __name__ == "__main__":
    watch(int(sys.argv[1]))
