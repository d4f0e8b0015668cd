"""A run on a Ray cluster that loses a replica and a node has the same numbers as a run in one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, environment
from tests.flows.test_replicas import SMALL, assert_as_of_one_replica

pytestmark = pytest.mark.heavy

NODES = Path(__file__).with_name("ray_nodes.py")


def namespace() -> str | None:
    """Return why no network namespace can be created, or None."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "there is no unshare or ip"
    done = subprocess.run(["unshare", "-rn", "true"], capture_output=True, text=True)
    return done.stderr.strip() or None


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install '.[ray]'")
@pytest.mark.skipif(namespace() is not None, reason=f"no network namespace: {namespace()}")
def test_lost_replica_and_lost_node_change_no_number(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = ["run", "spectral", "-m", "slow", *SMALL, "--no-server", "--verbose"]
    inside = f"ip link set lo up && exec {sys.executable} {NODES} {home} {' '.join(run)}"
    secret = {"RAY_AUTH_TOKEN": "0123456789abcdef" * 4, "RAY_AUTH_MODE": "token"}
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), kept.get("PYTHONPATH", "")]))
    done = subprocess.run(
        ["unshare", "-rn", "--pid", "--fork", "--mount-proc", "sh", "-c", inside],
        env=environment(home, None) | kept | secret, capture_output=True, text=True, timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    print({name: value for name, value in seen.items() if name != "output"})
    assert seen["code"] == 0, seen["output"]
    assert seen["resumed"] < 90
    assert "its part is retried" in seen["output"]
    assert_as_of_one_replica(home, tmp_path_factory.mktemp("alone"))
