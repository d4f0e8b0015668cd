"""Ends vLLM's processes when the process that started them is killed.

vLLM ends its engine core and workers on every orderly exit, but after kill -9 (or the kernel's, where
memory is short) they live on and keep the model in memory. ``start`` runs this file as a small process
beside ours; it looks once a second whether we still live, and ends what we left behind.
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
"""Title of vLLM's processes, once they have started."""


def start() -> subprocess.Popen[bytes]:
    """Guard this process; terminate the result when nothing of vLLM's is left."""
    return subprocess.Popen(
        [sys.executable, __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what kills our process group must not kill the guard
    )


def watch(parent: int) -> None:
    """Remember the parent's descendants while it lives; afterwards end those that are vLLM's.

    A process that was just starting gets its title later, so the search goes on for a while.
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
    """Kill a process of vLLM's with its children; forget it once it is gone. A reused id is not touched."""
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
