"""``import culturemeter`` from a folder with modules of the same names, without a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, environment

NAMESAKES = {"tasks.py": "raise RuntimeError('the wrong tasks')", "flows/__init__.py": "", "warehouse.py": ""}
RUN = """
import culturemeter as cs
import tasks.metrics.spectral
small = {"countries": ["BR", "DE", "JP"], "max_items": 6, "half_samples": 20}
board = cs.run("spectral", ["fake-a", "fake-b"], "smoke", **small)
assert {"fake-a", "fake-b"} <= set(board["model"]), board
assert board.equals(cs.leaderboard("spectral"))
assert cs.sql("SELECT DISTINCT model FROM model_scores WHERE model LIKE ?", ["fake-%"]).height == 2
assert "macro_f1" in set(cs.compare("fake-a", "fake-b")["metric"])
for wrong in (lambda: cs.run("spectrum"), lambda: cs.run("spectral", max_item=3)):
    try:
        wrong()
    except ValueError as error:
        print(error)
print(tasks.__file__)
"""


def python(code: str, home: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run in the user's folder, which precedes the project on the path."""
    env = environment(home, None) | {"PYTHONPATH": str(REPOSITORY)}
    for name, text in NAMESAKES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return subprocess.run([sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True)


@pytest.mark.heavy
def test_run_from_a_folder_with_namesakes_needs_no_server(home: Path, tmp_path: Path) -> None:
    done = python(RUN, home, tmp_path / "mine")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "unknown evaluation 'spectrum': did you mean spectral?"
    assert "--max-item" in lines[1]
    assert lines[2] == str(REPOSITORY / "tasks" / "__init__.py")
    assert not (home / "prefect" / "server.log").exists()


def test_namesake_imported_before_is_one_error(home: Path, tmp_path: Path) -> None:
    code = "import warehouse\ntry:\n    import culturemeter\nexcept ImportError as error:\n    print(error)"
    done = python(code, home, tmp_path / "mine")
    (line,) = done.stdout.splitlines()
    assert line.startswith("culturemeter has a package 'warehouse', and another of that name is already")
    assert str(tmp_path / "mine" / "warehouse.py") in line
    assert "import culturemeter before it" in line
