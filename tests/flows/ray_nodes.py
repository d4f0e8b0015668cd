"""A Ray cluster of a head and two nodes: a run on it loses a replica and then a node. Prints the result.

Run it in its own network namespace: Ray listens on all interfaces. Arguments: home, command to run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

ADDRESS = "127.0.0.1:6379"
QUIET = ("--include-dashboard=false", "--disable-usage-stats")


def ray(*arguments: str) -> None:
    """Run a command of Ray."""
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def replicas() -> list[psutil.Process]:
    """Return the processes with an engine, the oldest first."""
    named = []
    for process in psutil.process_iter(["cmdline", "create_time"]):
        if "".join(process.info["cmdline"] or [])[:12] == "ray::Replica":
            named.append(process)
    return sorted(named, key=lambda process: process.info["create_time"])


def parts(home: Path) -> int:
    """Return the number of stored parts."""
    return len(list((home / "parts" / "item_logprob").glob("[!_]*.parquet")))


def wait(done: int, home: Path, run: subprocess.Popen[str]) -> float:
    """Wait until `done` parts are stored; return the time."""
    while parts(home) < done and run.poll() is None:
        time.sleep(0.02)
    return time.monotonic()


def main() -> None:
    home = Path(sys.argv[1])
    ray("start", "--head", "--node-ip-address=127.0.0.1", "--port=6379", "--num-cpus=0", *QUIET)
    for _ in range(2):
        ray("start", f"--address={ADDRESS}", "--num-cpus=2", "--disable-usage-stats")
    program = [sys.executable, "-m", "deployments.cli.app"]
    command = [*program, *sys.argv[2:], "--replicas", "2", "--ray", ADDRESS]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait(4, home, run)
    seen = {process.pid for process in replicas()}
    os.kill(replicas()[0].pid, signal.SIGKILL)
    killed_replica = wait(parts(home) + 1, home, run)
    wait(14, home, run)
    seen |= {process.pid for process in replicas()}
    node = replicas()[-1].parent()
    assert node is not None
    assert "raylet" in node.name(), node
    before = {process.pid for process in replicas()}
    node.kill()
    gone = time.monotonic()
    while len({p.pid for p in replicas()} - before) == 0 and run.poll() is None:
        time.sleep(0.05)
    resumed = time.monotonic() - gone
    output, _ = run.communicate(timeout=300)
    seen |= before
    print(json.dumps({"code": run.returncode, "output": output, "resumed": resumed, "at": killed_replica}))


if __name__ == "__main__":
    try:
        main()
    finally:
        subprocess.run([sys.executable, "-m", "ray.scripts.scripts", "stop", "--force"], capture_output=True)
