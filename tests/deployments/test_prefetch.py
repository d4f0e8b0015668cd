"""A prefetched folder suffices on a node without network, where nothing tries to reach one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import command, environment
from tests.engines.test_hub_models import COMMIT, Hub
from tests.engines.test_hub_models import folder as folder

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


def test_node_without_network_runs_what_was_prefetched(
    hub: Hub, blank: Path, tmp_path: Path, on_the_node: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    home = tmp_path / "laptop"
    (home / "engines").mkdir(parents=True)
    (home / "engines" / "of-the-hub.toml").write_text(
        f'model = "owner/model"\nrevision = "{COMMIT}"\ndtype = "float32"\ndevice = "cpu"\n'
    )
    env = environment(home, None) | {"HF_ENDPOINT": hub.address, "HF_HUB_DISABLE_XET": "1"}
    words = command("prefetch", str(tmp_path / "away"), *RUN)
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
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
