"""A Slurm cluster of this machine for tests: munge, a controller and several nodes, in a folder, on loopback.

Install it with `apt-get install slurm-wlm munge`; tests are skipped where it is not. Nothing outside of the
folder is written, and all daemons are children of the test.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.waiting import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=3
InactiveLimit=0
MinJobAge=600
SchedulerParameters=batch_sched_delay=0,sched_interval=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def cluster(folder: Path, n_nodes: int) -> Iterator[dict[str, str]]:
    """Start a cluster with nodes n1, n2, … of two cores; yields the variables that its clients need."""
    if absent := [name for name in PROGRAMS if _program(name) is None]:
        pytest.skip(f"{', '.join(absent)} is not installed: apt-get install slurm-wlm munge")
    if os.geteuid():
        pytest.skip("Slurm's daemons run as root here")
    host = socket.gethostname()
    for n in range(1, n_nodes + 1):
        (folder / f"spool-n{n}").mkdir(parents=True)
    (folder / "state").mkdir()
    folder.chmod(0o755)  # munge looks at all folders above its socket
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    nodes = "\n".join(
        f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2 State=UNKNOWN"
        for n in range(1, n_nodes + 1)
    )
    own = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(host=host, port=free_port(), folder=folder, nodes=nodes)
    )
    munged = [
        "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock",
        f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed",
    ]  # fmt: skip
    commands = [
        munged,
        ["slurmctld", "-D", "-c"],
        *(["slurmd", "-D", "-N", f"n{n + 1}"] for n in range(n_nodes)),
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{command[0]}-{len(started)}.out").open("wb") as out:
                started.append(subprocess.Popen(
                    [_program(command[0]) or command[0], *command[1:]], env=os.environ | own,
                    stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                ))  # fmt: skip
            if command is munged:
                until((folder / "munge.sock").exists)
        until(lambda: states(own).count("idle") == n_nodes, every=0.2)
        try:
            yield own
        finally:  # what a job's keeper cannot report keeps it alive
            call(own, "scancel", "--quiet", "--state=PENDING", "--me", check=False)
            call(own, "scancel", "--quiet", "--signal=KILL", "--full", "--me", check=False)
            until(lambda: not call(own, "squeue", "-h", check=False).strip(), every=0.5)
    finally:
        for process in reversed(started):
            process.kill()
        for process in started:
            process.wait(30)


def states(own: dict[str, str]) -> list[str]:
    """Return the state of each node."""
    return call(own, "sinfo", "-h", "-N", "-o", "%T", check=False).split()


def call(own: dict[str, str], *command: str, check: bool = True) -> str:
    """Return the output of a client of the cluster."""
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, timeout=60)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
