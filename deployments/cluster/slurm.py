"""Runs as Slurm jobs: an array answers a folder's requests, and a job after it begins the next round.

The unit of an element is a share of the folder's requests (``tasks.pending``), which it answers with run.py:
each request is in one share, each answer is a line in the element's own file, and an element that was killed,
requeued or moved to another node goes on behind its last line. Nodes need neither a database nor a home, and
no file has two writers, so the folder may be on a network file system. Private homes with ``merge`` would
lose what was answered on a node that is gone, and would send each study's own requests once per home.

submitit is not used: its jobs are pickled functions, which need this package and its version on every node;
array, requeue and dependency are the lines below. No value becomes shell: Slurm's options match ``Value``,
and paths are quoted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tasks.engines.protocols import EngineError
from tasks.parsing import parse_json

SETTINGS, JOBS, LOGS, NOTES = "slurm.json", "jobs.jsonl", "slurm", "submitted"
ANSWER, COLLECT = "answer.sbatch", "collect.sbatch"
RETRIES, CONTINUATIONS = 3, 50
"""Times that an element is requeued after it was killed, and in all, as at its time limit."""
SECONDS = 60
"""Seconds before the time limit at which an element ends what it works on."""
OWN = frozenset({
    "array", "chdir", "dependency", "error", "export", "input", "job-name", "no-requeue", "open-mode",
    "output", "parsable", "requeue", "signal", "wait", "wrap",
})  # fmt: skip
"""Options of sbatch that are set here."""
SECRET = re.compile("KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL|WAREHOUSE", re.IGNORECASE)
"""Part of the name of a variable that may hold a secret, or an address with one."""
ENDED = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL",
    "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip
"""States of elements that write no more; any other state, also a new one, counts as at work."""
MOST = 10_000
"""Most elements of an array."""
PATIENCE_S = 30

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z-]*$")]
Value = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.,:=+%@/\[\]()*&|!-]*$")]
"""Value of an option of sbatch: no space, quote, comment or new line."""
Runner = Annotated[str, StringConstraints(pattern=r"^(batch|device|model|only|positions|program|url)$")]
"""Options of run.py that may be given."""


class Job(BaseModel):
    """Settings of a submitted folder's jobs, which it keeps for the next rounds."""

    model_config = ConfigDict(extra="forbid")

    array: int = Field(default=1, ge=1, le=MOST, description="elements that share the requests")
    options: dict[Name, Value] = Field(default_factory=dict, description="options of sbatch for elements")
    collect: dict[Name, Value] = Field(default_factory=dict, description="others for the job after them")
    runner: dict[Runner, Value] = Field(default_factory=dict, description="options of run.py")
    trusts_code: bool = False
    python: str = Field(default=sys.executable, min_length=1, description="program that runs run.py")

    def model_post_init(self, _: Any) -> None:
        """Raise ValueError for an option that is set here."""
        if own := sorted(OWN & {*self.options, *self.collect}):
            raise ValueError(f"{', '.join(own)}: set by culturemeter itself")


def scripts(job: Job, folder: Path) -> dict[str, str]:
    """Return the two scripts of a round, by the names of their files."""
    words = [job.python, "run.py", *(f"--{key}={value}" for key, value in sorted(job.runner.items()))]
    words += ["--trust-remote-code"] if job.trusts_code else []
    both = {"job-name": _name(folder), "requeue": "", "open-mode": "append"}
    elements = {"array": f"1-{job.array}", "output": f"{LOGS}/%A_%a.log", "signal": f"B:USR1@{SECONDS}"}
    after = {key: value for key, value in job.options.items() if key not in ("gres", "gpus")} | job.collect
    place = shlex.quote(str(folder))
    return {
        ANSWER: _ANSWER.format(
            options=_options(both | elements | job.options), folder=place, command=shlex.join(words),
            n=job.array, continuations=CONTINUATIONS, retries=RETRIES,
        ),
        COLLECT: _COLLECT.format(
            options=_options(both | {"output": f"{LOGS}/%j.log"} | after), folder=place,
            python=shlex.quote(sys.executable), path=shlex.quote(os.environ.get("PYTHONPATH", "")),
        ),
    }  # fmt: skip


def write(job: Job, folder: Path) -> None:
    """Write the scripts, and how they were made, to the folder."""
    (folder / LOGS).mkdir(parents=True, exist_ok=True)
    for name, text in {**scripts(job, folder), SETTINGS: job.model_dump_json(indent=1)}.items():
        (folder / name).write_text(text, encoding="utf-8")


def read(folder: Path) -> Job:
    """Return how a folder is answered. Raises EngineError if it was not submitted."""
    try:
        return Job.model_validate_json((folder / SETTINGS).read_bytes())
    except (OSError, ValueError) as error:
        raise EngineError(
            f"{folder} was not submitted: culturemeter submit EVALUATION --folder {folder}"
        ) from error


def submit(folder: Path) -> tuple[str, str]:
    """Submit a round: the array, and the job that follows whatever becomes of it; returns their ids.

    Keys and passwords of this environment do not travel, since Slurm stores a job's environment.
    """
    array = _sbatch(folder, ANSWER)
    after = _sbatch(folder, COLLECT, f"--dependency=afterany:{array}")
    with (folder / JOBS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"array": array, "after": after}) + "\n")
    return array, after


def rounds(folder: Path) -> list[dict[str, str]]:
    """Return the ids of a folder's jobs, the newest last."""
    try:
        lines = [parse_json(line) for line in (folder / JOBS).read_bytes().splitlines()]
        return [{name: str(int(line[name])) for name in ("array", "after")} for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def states(jobs: Iterable[str]) -> dict[str, Counter[str]]:
    """Return job -> state -> number of elements; a job that Slurm does not know any more has none.

    sacct, where there is accounting, knows all that have ended, and squeue the others as they are now.
    """
    every, wanted = dict[str, str](), ",".join(jobs)
    for command in (
        ["sacct", "-n", "-X", "-P", "-o", "JobID,State", "-j", wanted],
        ["squeue", "-h", "-r", "-t", "all", "-o", "%i|%T", "-j", wanted],
    ):
        for line in _output(command).splitlines() if wanted else ():
            if found := re.fullmatch(r"(\d+(?:_\d+)?|\d+_\[[^|]*)\|([A-Z_]+)(?: by .*)?", line):
                every |= dict.fromkeys(_elements(found[1]), found[2])
    counted: dict[str, Counter[str]] = {}
    for element, state in every.items():
        counted.setdefault(element.partition("_")[0], Counter())[state] += 1
    return counted


def _elements(job: str) -> list[str]:
    """Return the ids of a job or element, or of the waiting elements that sacct calls ``7_[3,5-9:2%1]``."""
    array, is_several, places = job.partition("_[")
    if not is_several:
        return [job]
    found = re.findall(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.sub(r"%.*", "", places))
    every = (range(int(a), int(b or a) + 1, int(step or 1) or 1)[:MOST] for a, b, step in found)
    return [f"{array}_{place}" for own in every for place in own]


def at_work(folder: Path) -> str:
    """Return the state of elements of the newest round that have not ended; "" if all have."""
    found = states(each["array"] for each in rounds(folder)[-1:])
    return ", ".join(state.lower() for own in found.values() for state in own if state not in ENDED)


def note(home: Path, folder: Path) -> None:
    """Note in a home that a folder was submitted from it."""
    target = home / NOTES / f"{_name(folder)}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"folder": str(folder)}), encoding="utf-8")


def submitted(home: Path) -> list[dict[str, str]]:
    """Return folder, round, job and states for each round that was submitted from a home."""
    rows = []
    for file in sorted((home / NOTES).glob("*.json")):
        folder = Path(str(parse_json(file.read_bytes())["folder"]))
        every = rounds(folder)
        found = states(job for each in every for job in each.values())
        for number, each in enumerate(every, start=1):
            for what, job in each.items():
                own = ", ".join(f"{n} {state.lower()}" for state, n in sorted(found.get(job, {}).items()))
                row = {"folder": str(folder), "round": str(number), "what": what, "job": job}
                rows.append(row | {"state": own or "ended long ago"})
    return rows


def _name(folder: Path) -> str:
    return f"culturemeter-{sha256(os.fsencode(folder)).hexdigest()[:8]}"


def _output(command: list[str]) -> str:
    """Return what a program of Slurm prints; "" if it is not here, fails or hangs."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _sbatch(folder: Path, script: str, *options: str) -> str:
    """Return the id of a new job. Raises EngineError with sbatch's own words."""
    # A job that submits has variables of Slurm, such as its number of restarts, which are not the new one's.
    known = {
        name: value
        for name, value in os.environ.items()
        if not SECRET.search(name)
        and name != "CULTUREMETER_HOME"  # is on a disk of this machine
        and (name == "SLURM_CONF" or not name.startswith("SLURM_"))
    }
    command = ["sbatch", "--parsable", *options, script]
    try:
        done = subprocess.run(
            command, cwd=folder, env=known, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except FileNotFoundError as error:
        raise EngineError(
            "sbatch is not installed here: submit where it is, or --print the scripts"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"sbatch gave no answer in {PATIENCE_S} s: is slurmctld there? Try again"
        ) from error
    job = done.stdout.strip().partition(";")[0]
    if done.returncode or not job.isdecimal():
        raise EngineError(f"sbatch refused {folder / script}: {' '.join(done.stderr.split()) or done.stdout}")
    return job


def _options(options: Mapping[str, str]) -> str:
    return "\n".join(f"#SBATCH --{name}{f'={value}' if value else ''}" for name, value in options.items())


_ANSWER = """\
#!/bin/bash
{options}
# Answers one of {n} shares of this folder's requests. What is answered is in answers/, so this may be killed,
# requeued or started anew at any time.
cd -- {folder} || exit 1
if [ -e offline.sh ]; then . ./offline.sh; fi
export OMP_NUM_THREADS="${{OMP_NUM_THREADS:-${{SLURM_CPUS_PER_TASK:-1}}}}"
again() {{  # at most $1 times
  if [ "${{SLURM_RESTART_COUNT:-0}}" -lt "$1" ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
  fi
}}
trap 'is_late=1; kill -TERM $!' USR1  # Slurm sends it before the time limit
trap 'kill -TERM $!' TERM
{command} --shard "$SLURM_ARRAY_TASK_ID/{n}" &
child=$!
until wait "$child" || ! kill -0 "$child" 2> /dev/null; do :; done
wait "$child"; code=$?  # its own: a wait that a signal ends has the signal's
if [ -n "$is_late" ]; then
  again {continuations}
elif [ "$code" -gt 128 ] && [ "$code" -ne 143 ]; then
  again {retries}
fi
exit "$code"
"""

_COLLECT = """\
#!/bin/bash
{options}
# Takes in the answers and submits the next round, in a home on this node's disk that is made of the folder.
cd -- {folder} || exit 1
home="$(mktemp -d "${{TMPDIR:-/tmp}}/culturemeter-XXXXXX")" || exit 1
trap 'rm -rf -- "$home"' EXIT
export CULTUREMETER_HOME="$home" PYTHONPATH={path}
unset CULTUREMETER_WAREHOUSE
if [ -e offline.sh ]; then . ./offline.sh; fi
if [ -e parts ]; then cp -r parts "$home/parts"; fi
for each in engines packs models; do
  if [ -e "$each" ] && [ ! -e "$home/$each" ]; then ln -s "$PWD/$each" "$home/$each"; fi
done
{python} -m culturemeter submit next "$PWD"
"""
