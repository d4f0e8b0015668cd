"""Run any flow in a process that can be disturbed: killed, interrupted, short of disk, with a jumping clock.

``python -m tests.chaos.forked`` imports all of them once and then forks a child for each line of JSON that it
reads, because a fresh interpreter would spend seconds on imports. It answers with the child's process id and,
to another line, with the exit code. Until then no other process gets that id, even if the child has ended.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import random
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

import warehouse.storage
from deployments.cli.common import errors
from deployments.evaluations import evaluation as definition
from deployments.serve.server import pointed_at
from flows.build import build_culturall, build_specnorm
from flows.evaluation import evaluate
from flows.ingest import refresh_all
from tasks.builders.culturall.params import CreateParams
from tasks.builders.specnorm.params import SpecnormParams
from tasks.ingest.params import IngestParams
from tests.builders.culturall.model_server import SOLVERS
from tests.conftest import REPOSITORY, environment
from tests.golden.harness import EVALUATIONS, params_of

FLOWS = (*EVALUATIONS, "ingest", "build_specnorm", "build_culturall")
NOBODY = 65534
CAPABILITIES_V3 = 0x20080522
"""Of linux/capability.h."""


def queue_of(home: Path) -> Path:
    """Return the file to which build_specnorm writes its queue."""
    return home / "queue.csv"


def dishes_of(home: Path) -> Path:
    """Return the file that ingest reads."""
    return home / "dishes.jsonl"


def pages_of(home: Path) -> Path:
    """Return the file that build_culturall reads."""
    return home / "pages.jsonl"


def run(flow: str, home: Path) -> None:
    """Run a flow to its end: build_specnorm on the tests' Prefect server, all others without a server."""
    if flow == "ingest":
        refresh_all(IngestParams(sources=["fmlama"], files=[str(dishes_of(home))]))
    elif flow == "build_specnorm":
        queue_of(home).unlink(missing_ok=True)  # an existing queue is never overwritten
        build_specnorm(SpecnormParams(model="fake-a", n=12, batch=3, queue=str(queue_of(home))))
    elif flow == "build_culturall":
        chosen = {"model": "writer", "solvers": list(SOLVERS), "pages": [str(pages_of(home))], "batch": 2}
        build_culturall.fn(CreateParams.model_validate(chosen))
    else:
        evaluate(definition(flow), params_of(flow, home))


@dataclass
class Child:
    """One run of a flow. output: its terminal output, once it has ended."""

    pid: int
    log: Path

    def ends_within(self, seconds: float) -> bool:
        """Wait until it has ended, at most this long; return whether it has ended."""
        status, until = Path(f"/proc/{self.pid}/stat"), time.monotonic() + seconds
        while not (ended := status.read_text().rsplit(")", 1)[1].split()[0] == "Z"):
            if time.monotonic() >= until:
                break
            time.sleep(0.005)
        return ended

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass
class Forked:
    """The process that forks; close it afterwards. api: starts a Prefect server."""

    api: Callable[[], str]
    folder: Path
    process: subprocess.Popen[str] = field(init=False)
    n: int = 0

    def __post_init__(self) -> None:
        settings = {"PREFECT_LOGGING_LEVEL": "CRITICAL", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.forked"],
            env=environment(self.folder, None) | settings,
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, flow: str, home: Path, **disturbance: Any) -> Child:
        """Start a flow; disturbance: see ``_disturbed``."""
        self.n += 1
        log = self.folder / f"{self.n}.log"
        job = {"flow": flow, "home": str(home), "log": str(log), "api": None, **disturbance}
        if flow == "build_specnorm":
            job["api"] = self.api(), os.environ["PREFECT_API_AUTH_STRING"]
        return Child(self._answer_to(json.dumps(job)), log)

    def end(self) -> int:
        """Wait for the flow; return its exit code, or minus the signal that ended it."""
        return self._answer_to("")

    def run(self, flow: str, home: Path, **disturbance: Any) -> Child:
        """Run a flow to its end and assert that it succeeds."""
        child = self.begin(flow, home, **disturbance)
        assert self.end() == 0, child.output
        return child

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer_to(self, line: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def _disturbed(room: int | None = None, reader: bool = False, clock: int | None = None) -> None:
    """Disturb this process.

    Args:
        room: maximum bytes of a file, as on a full disk.
        reader: give up root's rights, so that the modes of others' files apply.
        clock: seed of a clock that jumps by up to 400 days.
    """
    if room is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    if reader:
        none = ctypes.create_string_buffer(24)
        if ctypes.CDLL(None, use_errno=True).capset(struct.pack("Ii", CAPABILITIES_V3, 0), none):
            raise OSError(ctypes.get_errno(), "capset")
    if clock is not None:
        jumps = random.Random(clock)

        class Jumping(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(days=jumps.uniform(-400, 400))

        warehouse.storage.datetime = Jumping  # type: ignore[attr-defined]


def _child(job: dict[str, Any]) -> int:
    """Run one job as the command line would; returns the exit code."""
    flow, home, api = job.pop("flow"), Path(job.pop("home")), job.pop("api")
    log = os.open(job.pop("log"), os.O_WRONLY | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["CULTUREMETER_HOME"] = str(home)
    logging.getLogger("culturemeter").setLevel(logging.CRITICAL)  # as the command line does
    if api:
        os.environ["PREFECT_API_AUTH_STRING"] = api[1]
    try:
        with errors(), pointed_at(api[0]) if api else nullcontext():
            _disturbed(**job)
            run(flow, home)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def main() -> None:
    """Fork a child for each job, one after another."""
    while line := sys.stdin.readline():
        pid = os.fork()
        if not pid:
            code = 70
            try:
                code = _child(json.loads(line))
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
