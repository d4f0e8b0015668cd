"""Runs by jobs of Slurm: what enters a script, and an array that loses elements and a node."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from typing import Any

import psutil
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.cluster import slurm
from deployments.evaluations import evaluation
from flows.prefetch import take_along
from flows.session import prepare
from tests.conftest import command, environment
from tests.golden import harness as golden
from tests.golden import served
from tests.golden.harness import FAKES, SERVED, write_engine, write_served
from tests.http_server import Answer, HttpServer, Request, Send
from tests.slurm import call, cluster
from tests.waiting import LONGEST_WAIT_S, until

RUN = ("cure", "-m", SERVED, "--judges", SERVED, "--profile", "smoke")
ROWS = """
SELECT metric, slice_kind, slice, value, unscored_reason, n_scored, ci_low, ci_high
FROM metric_value ORDER BY ALL
"""
FIRST = 12
"""Answers after which the server waits."""

HOSTILE = (
    "a b", "a;reboot", "$(reboot)", "`reboot`", "a\n#SBATCH --wrap=x", "a\nreboot", "'", '"', "a#b", "a\\b",
    "a\x00b", "a\rb", "ä",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_value_that_could_become_shell_is_refused(text: str) -> None:
    for fields in (
        {"options": {"partition": text}}, {"collect": {"partition": text}}, {"runner": {"url": text}},
        {"options": {text: "x"}}, {"runner": {text: "x"}},
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            slurm.Job.model_validate(fields)


@pytest.mark.parametrize("name", sorted(slurm.OWN))
def test_option_that_is_set_here_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="set by culturemeter"):
        slurm.Job(options={name: "x"})


@pytest.mark.parametrize("name", ["plain", "with space", 'it\'s; $(touch pwned) `x` "q"', "-rf", "a\nb"])
def test_scripts_quote_paths(name: str, tmp_path: Path) -> None:
    """A script runs in a folder of any name, and runs nothing else."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "run.py").write_text("import sys; print(sys.argv[1:])\n")
    job = slurm.Job(array=3, options={"partition": "gpu"}, runner={"url": "http://h:1/v1"}, trusts_code=True)
    slurm.write(job, folder)
    assert slurm.read(folder) == job
    text = (folder / slurm.ANSWER).read_text()
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert "#SBATCH --partition=gpu" in directives
    assert "#SBATCH --array=1-3" in directives
    done = subprocess.run(
        ["bash", slurm.ANSWER], cwd=folder, env=os.environ | {"SLURM_ARRAY_TASK_ID": "2"}, text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['--url=http://h:1/v1', '--trust-remote-code', '--shard', '2/3']"
    assert not list(tmp_path.rglob("pwned"))
    for script in (slurm.ANSWER, slurm.COLLECT):
        assert subprocess.run(["bash", "-n", script], cwd=folder, timeout=60).returncode == 0
        assert f"cd -- {shlex.quote(str(folder))}" in (folder / script).read_text()


def test_print_shows_the_scripts_and_writes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    own = {"CULTUREMETER_HOME": str(home)}
    there = sorted(home.rglob("*"))
    words = ["submit", "cure", "--print", "--partition", "gpu", "--array", "4"]
    words += ["--sbatch", "account=x", "--between", "partition=cpu"]
    shown = CliRunner().invoke(app, words, env=own)
    assert shown.exit_code == 0, shown.output
    answer, collect = shown.stdout.split(f"# {home / 'slurm-cure' / slurm.COLLECT}")
    for line in ("--partition=gpu", "--account=x", "--array=1-4", "--requeue", "--signal=B:USR1@60"):
        assert f"#SBATCH {line}\n" in answer
    assert "#SBATCH --partition=cpu\n" in collect
    assert "--array" not in collect
    for wrong in (
        ["--partition", "a b"],
        ["--sbatch", "wrap=x"],
        ["--runner", "model=$(x)"],
        ["--array", "0"],
    ):
        refused = CliRunner().invoke(app, [*words, *wrong], env=own)
        assert refused.exit_code, refused.output
        assert "Traceback" not in refused.output
    assert sorted(home.rglob("*")) == there


ENDS: dict[str, tuple[str, str, str, int, bool]] = {
    "answered": ("pass", "", "0", 0, False),
    "failed": ("sys.exit(1)", "", "0", 1, False),
    "killed": ("os.kill(os.getpid(), 9)", "", "0", 137, True),
    "killed again and again": ("os.kill(os.getpid(), 9)", "", str(slurm.RETRIES), 137, False),
    "near its time limit": ("time.sleep(600)", "USR1", "7", 143, True),
    "continued too often": ("time.sleep(600)", "USR1", str(slurm.CONTINUATIONS), 143, False),
    "cancelled": ("time.sleep(600)", "TERM", "0", 143, False),
}
"""Fate of an element -> what run.py does, signal, restarts before, exit code, whether it is requeued."""


@pytest.mark.parametrize("case", ENDS)
def test_element_is_requeued_if_it_was_killed_or_has_no_time_left(case: str, tmp_path: Path) -> None:
    does, sent, restarts, code, is_requeued = ENDS[case]
    (tmp_path / "run.py").write_text(f"import os, sys, time\nopen('began', 'w').close()\n{does}\n")
    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "$@" >> requeued\n')
    (tmp_path / "scontrol").chmod(0o755)
    slurm.write(slurm.Job(array=3), tmp_path)
    own = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "5", "SLURM_RESTART_COUNT": restarts}
    env = os.environ | own | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    element = subprocess.Popen(
        ["bash", slurm.ANSWER], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if sent:
            until((tmp_path / "began").exists, element)
            element.send_signal(signal.Signals[f"SIG{sent}"])
        assert element.wait(LONGEST_WAIT_S) == code
    finally:
        element.kill()
    assert (tmp_path / "requeued").exists() == is_requeued
    assert not is_requeued or (tmp_path / "requeued").read_text() == "requeue 5_2\n"


SACCT = """\
13_1|COMPLETED
13_2|RUNNING
13_[3-9%1]|PENDING
"""
"""Lines of Slurm 22.05 with accounting: elements that never began are one line."""
SQUEUE = """\
13_2|COMPLETING
13_3|A_NEW_STATE
13_4|PENDING
"""
KNOWN: dict[str, tuple[str, str, dict[str, dict[str, int]], str]] = {
    "both": (
        SACCT, SQUEUE, {"13": {"COMPLETED": 1, "COMPLETING": 1, "A_NEW_STATE": 1, "PENDING": 6}},
        "a_new_state",
    ),
    "waiting": ("13_[1,3-7:2,9-10%4]|PENDING\n", "", {"13": {"PENDING": 6}}, "pending"),
    "never begun": ("13_[1-4]|CANCELLED by 0\n", "", {"13": {"CANCELLED": 4}}, ""),
    "cut": ("13_[1-9,12,...]|PENDING\n13_[7-99999999]|PENDING\n", "", {"13": {"PENDING": 10_006}}, "pending"),
    "no accounting": ("", SQUEUE, {"13": {"COMPLETING": 1, "A_NEW_STATE": 1, "PENDING": 1}}, "pending"),
    "ended": ("13_1|COMPLETED\n13_2|TIMEOUT\n", "", {"13": {"COMPLETED": 1, "TIMEOUT": 1}}, ""),
    "cancelled": ("13_1|CANCELLED by 0\n13_2|NODE_FAIL\n", "", {"13": {"CANCELLED": 1, "NODE_FAIL": 1}}, ""),
    "nothing known": ("", "slurm_load_jobs error: Invalid job id specified\n", {}, ""),
    "strangers' words": ("13|x|RUNNING\n\x1b[31m\n13_2\n", "error: PENDING\n13|\n", {}, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_states_are_those_of_both_programs(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *texts, counted, at_work = KNOWN[case]
    for name, text in zip(("sacct", "squeue"), texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
        (tmp_path / name).write_text(f'#!/bin/sh\ncat "{tmp_path}/{name}.txt"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / slurm.JOBS).write_text('{"array": "13", "after": "14"}\n')
    assert slurm.states(["13"]) == counted
    assert bool(slurm.at_work(tmp_path)) == bool(at_work)
    assert at_work in slurm.at_work(tmp_path)


def test_secrets_do_not_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sbatch").write_text('#!/bin/sh\nenv > "$SEEN"\necho 7\n')
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    hidden = ("OPENAI_API_KEY", "HF_TOKEN", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "CULTUREMETER_WAREHOUSE")
    for name in (*hidden, "SLURM_RESTART_COUNT"):
        monkeypatch.setenv(name, "of-a-reader")
    monkeypatch.setenv("SLURM_CONF", "kept")
    assert slurm.submit(tmp_path) == ("7", "7")
    assert slurm.rounds(tmp_path) == [{"array": "7", "after": "7"}]
    seen = (tmp_path / "seen").read_text()
    assert "of-a-reader" not in seen
    assert "SLURM_CONF=kept" in seen


class Held(HttpServer):
    """A model behind HTTP that holds its answers back after the first ones, until ``gate`` is set.

    ``answered`` counts the answers to each prompt for which somebody was still waiting.
    """

    def __init__(self) -> None:
        self.gate, self.answered, self._lock = Event(), Counter[str](), Lock()
        super().__init__(self.reply)
        self.url = f"{self.address}/v1"

    def reply(self, request: Request) -> Send:
        if request.method == "GET":
            return Answer({"data": []})
        if request.number >= FIRST:
            self.gate.wait(300)
        asked = request.json
        answer = Answer(served.reply(asked) | {"model": asked["model"]})

        def send(handler: BaseHTTPRequestHandler) -> None:
            if is_waiting(handler.connection):
                with self._lock:
                    self.answered[json.dumps(asked, sort_keys=True)] += 1
                answer(handler)

        return send


def is_waiting(client: socket.socket) -> bool:
    """Return whether a client has not closed its connection."""
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.fixture
def server() -> Iterator[Held]:
    server = Held()
    yield server
    server.gate.set()
    server.close()


def new_home(blank: Path, home: Path, url: str) -> Path:
    shutil.copytree(blank, home)
    for fake in FAKES:
        write_engine(home, fake)
    write_served(home, SERVED, url)
    return home


def rows(own: dict[str, str]) -> Any:
    done = subprocess.run(
        command("sql", ROWS, "--format", "json"), env=own, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def culturemeter(own: dict[str, str], cwd: Path, *words: str) -> str:
    done = subprocess.run(command(*words), env=own, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def runners(share: str) -> list[psutil.Process]:
    """Return the processes of run.py that answer a share."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "run.py" in words and words[-2:] == ["--shard", share]:
            found.append(process)
    return found


def has_moved(folder: Path, n_rounds: int) -> str:
    """Return what has come after a round; "" while it goes on."""
    log = folder / slurm.LOGS / f"{slurm.rounds(folder)[-1]['after']}.log"
    if len(slurm.rounds(folder)) > n_rounds:
        return "another round"
    ended = log.exists() and re.search(r"^(nothing is left|error:)", log.read_text(), re.MULTILINE)
    return "the end" if ended else ""


@pytest.mark.heavy
def test_array_that_loses_elements_and_a_node_ends_with_the_numbers_of_a_run(
    blank: Path, server: Held, tmp_path: Path
) -> None:
    online = environment(new_home(blank, tmp_path / "online", server.url), None)
    server.gate.set()
    culturemeter(online, tmp_path, "run", *RUN, "--no-server", "--no-probe")
    expected = rows(online)
    n_prompts = len(server.answered)
    assert set(server.answered.values()) == {1}
    server.answered.clear()
    server.gate.clear()
    with server.changed:
        server.received.clear()

    folder = tmp_path / "its folder"
    with cluster(tmp_path / "slurm", 4) as own:
        env = environment(new_home(blank, tmp_path / "home", server.url), None) | own
        jobs = f"--array 8 --runner url={server.url} --runner batch=2".split()
        culturemeter(env, tmp_path, "submit", *RUN, "--folder", str(folder), *jobs)
        (first,) = slurm.rounds(folder)
        server.wait_until(lambda: server.under_way >= 4)
        killed = until(lambda: next((i for i in range(1, 9) if runners(f"{i}/8")), None))
        runners(f"{killed}/8")[0].kill()  # the script has its element requeued
        other = until(lambda: next((i for i in range(8, 0, -1) if i != killed and runners(f"{i}/8")), None))
        (process,) = runners(f"{other}/8")
        shell = process.parent()
        assert shell is not None
        os.kill(shell.pid, signal.SIGKILL)  # the whole element: the next round has its share
        process.kill()
        call(own, "scontrol", "update", "nodename=n4", "state=drain", "reason=test")
        server.gate.set()

        while until(partial(has_moved, folder, len(slurm.rounds(folder))), every=0.5) == "another round":
            pass
        shown = culturemeter(env, tmp_path, "runs", "--wide")
        assert first["array"] in shown
        assert "completed" in shown
        states = call(own, "squeue", "-h", "-r", "-t", "all", "-o", "%i %T %N")
    logs = "\n".join(path.read_text() for path in (folder / slurm.LOGS).glob("*.log"))
    assert "nothing is left" in logs, logs
    assert "FAILED" in states or "CANCELLED" in states, states
    culturemeter(env, tmp_path, "pending", "import", str(folder))
    assert rows(env) == expected
    assert len(server.answered) == n_prompts
    assert set(server.answered.values()) == {1}


@pytest.mark.heavy
def test_stored_answers_travel_and_are_not_sent_again(
    blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = golden.new_home(blank, "travels", "worldwise", "http://127.0.0.1:9/v1")
    golden.run("worldwise", home, models=["fake-a"])
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    session = prepare(evaluation("worldwise"), golden.params_of("worldwise", home, models=["fake-a"]))
    assert not session.plan.left
    folder, other = tmp_path / "folder", tmp_path / "other"
    take_along([session], folder)
    other.mkdir()
    for name in ("parts", "engines"):
        shutil.copytree(folder / name, other / name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(other))
    there = prepare(evaluation("worldwise"), session.params)
    assert there.wanted
    assert not there.plan.left
