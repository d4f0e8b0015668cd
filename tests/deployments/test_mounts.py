"""A worker with its container's mounts: program and engine specs read-only, the rest of its home writable."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import environment

REPOSITORY = Path(__file__).parents[2]
IN_A_CONTAINER = """
set -e
for folder in "$1" "$2"; do mount --bind "$folder" "$folder"; mount -o remount,ro,bind "$folder"; done
shift 2
exec "$@"
"""
AUTO = """
import sys
from tasks.engines.specs import load_spec
from pathlib import Path
spec = load_spec("mine", Path(sys.argv[1]) / "engines")
print(spec.dtype)
"""


def run(home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in its own mount namespace with the checkout and the specs read-only."""
    mounted = ["unshare", "--mount", "sh", "-c", IN_A_CONTAINER, "sh", str(REPOSITORY), str(home / "engines")]
    return subprocess.run(
        [*mounted, *command],
        env=environment(home, None),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.heavy
def test_dtype_auto_is_resolved_with_a_read_only_engines_folder(home: Path) -> None:
    allowed = (
        shutil.which("unshare")
        and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0
    )
    if not allowed:
        pytest.skip("mount namespaces cannot be made here")
    (home / "engines" / "mine.toml").write_text('model = "some/model"\n')
    refused = run(home, "touch", str(home / "engines" / "more.toml"))
    assert "Read-only file system" in refused.stderr
    done = run(home, sys.executable, "-c", AUTO, str(home))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("float32", "bfloat16")
