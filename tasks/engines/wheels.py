"""Wheels from the package index, fetched by pip so that its index settings hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tasks.engines.protocols import EngineError


def download(label: str, projects: Sequence[str], version: str, folder: Path) -> list[Path]:
    """Fetch one wheel of each project, all of the same version, without what they depend on.

    Args:
        label: what the wheels are wanted for, for the error message.
        folder: where the wheels are put; made if missing.

    Returns:
        The wheels in the order of ``projects``.

    Raises:
        EngineError: pip failed; carries the last line that pip wrote.
    """
    wanted = [f"{project}=={version}" for project in projects]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest"]
    done = subprocess.run([*command, str(folder), *wanted], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise EngineError(
            f"pip could not download {' '.join(wanted)} for the embedded model {label!r}: {last}. "
            "Check the network and pip's index settings (`pip config list`), then run it again"
        )
    return [next(folder.glob(f"{project.replace('-', '_')}-{version}-*.whl")) for project in projects]
