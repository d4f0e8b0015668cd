"""A prefetched folder suffices on a node without network, where nothing tries to reach one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests.conftest import command, environment
from tests.engines.test_hub_models import COMMIT, Hub
from tests.engines.test_hub_models import folder as folder
from tests.engines.test_sentence_embedder import tiny as tiny
from tests.golden.nets.harness import FILES

pytestmark = pytest.mark.heavy

RUN = (
    "spectral",
    "-m",
    "of-the-hub",
    "--countries",
    "BR,DE,JP",
    "--domains",
    "currency",
    "--half-samples",
    "20",
)
LISTENS = """
import sys
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        with open({log!r}, "a") as log:
            log.write(f"{{event}} {{args[-1]}}\\n")
sys.addaudithook(hook)
"""
ON_THE_NODE = """
set -e
. {away}/offline.sh
"$@"
"""


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    server = Hub(folder)
    yield server
    server.close()


@pytest.fixture
def on_the_node(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a command in a namespace without interfaces, in a home of its own."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("no network namespace may be made here")
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(LISTENS.format(log=str(tmp_path / "network.log")))
    own = environment(tmp_path / "node", None)
    own |= {"PYTHONPATH": f"{hook}{os.pathsep}{own['PYTHONPATH']}", "OMP_NUM_THREADS": "1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        script = ON_THE_NODE.format(away=tmp_path / "moved")
        words = ["unshare", "-n", "bash", "-c", script, "bash", *command(*arguments)]
        return subprocess.run(words, env=own, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


def prefetch(hub: Hub, tmp_path: Path, *words: str) -> None:
    """Fetch a run's needs to the folder ``away``, in a home with two models of the hub."""
    home = tmp_path / "laptop"
    (home / "engines").mkdir(parents=True, exist_ok=True)
    for name, kind in (("of-the-hub", "packed_trie"), ("by-vllm", "vllm")):
        (home / "engines" / f"{name}.toml").write_text(
            f'kind = "{kind}"\nmodel = "owner/model"\nrevision = "{COMMIT}"\ndtype = "float32"\n'
            'device = "cpu"\n'
        )
    env = environment(home, None) | {"HF_ENDPOINT": hub.address, "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        command("prefetch", str(tmp_path / "away"), *words), env=env, cwd=tmp_path, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_node_without_network_runs_what_was_prefetched(
    hub: Hub, blank: Path, tmp_path: Path, on_the_node: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    prefetch(hub, tmp_path, *RUN)
    assert "model.safetensors" in hub.sent
    (tmp_path / "away").rename(tmp_path / "moved")

    looked = on_the_node("doctor", "--offline", "--format", "json")
    assert looked.returncode == 0, looked.stderr
    assert {row["state"] for row in json.loads(looked.stdout)} == {"here"}
    ran = on_the_node("run", *RUN, "--no-server")
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(on_the_node("leaderboard", "spectral", "--format", "json").stdout)
    assert "of-the-hub" in [row["model"] for row in rows]
    assert not (tmp_path / "network.log").exists(), (tmp_path / "network.log").read_text()

    (weights,) = (tmp_path / "moved").rglob("model.safetensors")
    weights.unlink()
    looked = on_the_node("doctor", "--offline", "--format", "csv")
    assert looked.returncode == 1
    assert "cannot be downloaded whole" in " ".join(looked.stdout.split())
    assert "1 of 3 are missing" in looked.stderr


def test_data_of_a_task_embedder_and_vllm_are_looked_for_where_a_run_will_look(
    hub: Hub, tiny: Path, tmp_path: Path, on_the_node: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "days").mkdir()
    lines = (FILES / "first_days.jsonl").read_text()
    (tmp_path / "days" / "test.jsonl").write_text(lines)
    card = {"configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "test.jsonl"}]}]}
    (tmp_path / "days" / "README.md").write_text(f"---\n{yaml.safe_dump(card)}---\nInvented days.\n")
    hub.repositories |= {"datasets/owner/data": tmp_path / "days", "models/owner/embedder": tiny}
    own = yaml.safe_load((FILES / "choice.yaml").read_text())
    own |= {"dataset_path": "owner/data", "dataset_kwargs": {"revision": COMMIT}}
    (tmp_path / "days.yaml").write_text(yaml.safe_dump(own))
    task = ("harness", "--tasks", str(tmp_path / "days.yaml"), "--cluster", "place", "-m", "of-the-hub")
    prefetch(hub, tmp_path, *task)
    prefetch(
        hub, tmp_path, *["worldwise", "-m", "by-vllm", "--embedder", "owner/embedder", "--profile", "smoke"]
    )
    (tmp_path / "away").rename(tmp_path / "moved")

    def looked() -> dict[str, str]:
        rows = json.loads(on_the_node("doctor", "--offline", "--format", "json").stdout)
        return {row["what"]: row["state"] for row in rows}

    has_vllm = find_spec("vllm") is not None
    assert looked() == {
        "no network is tried": "here",
        "plan of harness": "here",
        "packed_trie of-the-hub": "here",
        "plan of worldwise": "here",
        "vllm by-vllm": "here" if has_vllm else "vllm is not installed here",
        "embedder owner/embedder": "here",
    }
    ran = on_the_node("run", *task, "--no-server")
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "network.log").exists(), (tmp_path / "network.log").read_text()

    data, (embedder,) = tmp_path / "moved" / "datasets", tmp_path.glob("moved/hub/models--owner--embedder")
    (built,) = data.glob(f"owner___data/*/*/{COMMIT}")
    shutil.copytree(built, built.with_name("d" * 40))
    next(embedder.rglob("model.safetensors")).unlink()
    lacks = looked()
    assert "was fetched too" in lacks["plan of harness"]
    assert lacks["embedder owner/embedder"] != "here"
    assert lacks["vllm by-vllm"] == ("here" if has_vllm else "vllm is not installed here")
