"""Every command that the documentation shows is read to its end, and those that need no network are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer.core
from typer.testing import CliRunner

from deployments.cli.app import app
from tasks.engines.replicas import RAY, REPLICAS
from tasks.loop.device_memory import CORES, GPUS
from tests.docs.test_commands import MADE, commands
from warehouse import Warehouse

SHOWN = sorted({command for _, command in commands()})
PLACEMENT = (RAY, REPLICAS, GPUS, CORES)
NAMED_ALONE = re.compile(r"Missing (argument|option)|requires an argument|…|Commands ─")
"""Error of a command that prose names without its arguments."""


def words_of(command: str) -> list[str]:
    words = shlex.split(re.split(r" < |\s#\s", command)[0])[1:]
    return [MADE.get(word, word) if words[0] in ("run", "pending", "submit") else word for word in words]


def test_every_shown_command_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, options, values and arguments, by the program's own parser; no command does anything."""
    read: list[str] = []
    (command,) = (kind for kind in typer.core.TyperCommand.__mro__ if kind.__name__ == "Command")
    monkeypatch.setattr(command, "invoke", lambda self, context: read.append(context.command_path))
    wrong, alone = {}, 0
    for shown in SHOWN:
        done = CliRunner().invoke(app, words_of(shown), env={"COLUMNS": "200"})
        if done.exit_code and NAMED_ALONE.search(shown + done.output):
            alone += 1
        elif done.exit_code:
            wrong[shown] = done.output
    assert wrong == {}
    assert len(SHOWN) - alone > 190
    assert CliRunner().invoke(app, ["run", "cure", "--max-dollars", "1"]).exit_code == 2


FIRST = (
    "gemma3-270m#1a2b gemma3-270m smollm2-135m-vllm model-a llama-8b llama-70b Qwen/Qwen3-0.6B ./mine.toml "
    "my-model ./my-model ./gpt.toml gpt.toml gpt my-checkpoint MODEL X"
)
SECOND = "smollm2-135m model-b qwen-7b ./my-checkpoint my-judge ./judge.toml judge.toml ./user.toml"
MODELS = dict.fromkeys(FIRST.split(), "fake-a") | dict.fromkeys(SECOND.split(), "fake-b")
"""Models of the pages -> models of this home."""
ELSEWHERE = (
    "serve", "browse", "people serve", "people pull", "copy", "submit", "models prepare", "verify",
    "prefetch", "merge", "pending", "drift --alert", "ingest --live", "ingest --source timeanddate",
)  # fmt: skip
"""Commands that answer others, or need network, a database, a cluster or another home: only read."""
BROUGHT = re.compile(
    r"[Nn]o such (file|folder)|there is no such file|no finished run|known: |exist(s|ed)? already"
    r"|neither a file|is not empty|is not overwritten|has an evaluation already|has no answers that count"
    r"|no ratings in|no ranking of a study|unknown run|no task or file|service not known|needs Ray|0 GPUs"
    r"|no study |no configuration has|cannot be read|API key|no price|not installed"
)
"""Errors of commands that need files, runs, keys or names of the reader's own."""


@pytest.fixture(scope="module", name="shown_home")
def _shown_home(all_runs: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("shown") / "home"
    shutil.copytree(all_runs.store.folder, home)
    return home


@pytest.mark.heavy
@pytest.mark.parametrize("first", sorted({words_of(each)[0] for each in SHOWN}))
def test_shown_commands_run(
    shown_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """With models of this home; runs are planned. A command ends well, or names what the reader brings."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(shown_home))
    monkeypatch.chdir(tmp_path)
    wrong = {}
    for shown in SHOWN:
        words = [MODELS.get(word, word) for word in words_of(shown)]
        if words[0] != first or " ".join(words).startswith(ELSEWHERE):
            continue
        is_planned = "--help" in words or "--dry-run" in words or words[0] != "run"
        done = CliRunner().invoke(
            app, [*words, *([] if is_planned else ["--dry-run"])], "FROM run", env={"COLUMNS": "200"}
        )
        for name in PLACEMENT:  # which a run sets for its whole process
            os.environ.pop(name, None)
        said = "" if done.exit_code == 0 else done.output + repr(done.exception)
        if done.exit_code == 2 and len(words) == 1:
            continue  # prose names it
        if said and not NAMED_ALONE.search(shown + said) and not BROUGHT.search(said):
            wrong[shown] = said[-300:]
        assert done.exception is None or isinstance(done.exception, SystemExit), (shown, done.exception)
    assert wrong == {}
