"""``import culturescope``: from a folder with namesakes, without a server, and what a wheel holds."""

from __future__ import annotations

import fnmatch
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, environment

NAMESAKES = {"tasks.py": "raise RuntimeError('the wrong tasks')", "flows/__init__.py": "", "warehouse.py": ""}
RUN = """
import culturescope as cs
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


def python(code: str, home: Path, folder: Path, ours: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    """Run in a folder of the user's, which comes before ours on the path."""
    env = environment(home, None) | {"PYTHONPATH": str(ours)}
    for name, text in NAMESAKES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return subprocess.run([sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True)


@pytest.mark.heavy
def test_a_run_from_a_folder_with_namesakes_needs_no_server(home: Path, tmp_path: Path) -> None:
    done = python(RUN, home, tmp_path / "mine")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "there is no evaluation 'spectrum': did you mean spectral?"
    assert "--max-item" in lines[1]
    assert lines[2] == str(REPOSITORY / "tasks" / "__init__.py")
    assert not (home / "prefect" / "server.log").exists()


def test_a_namesake_that_is_imported_already_is_one_line(home: Path, tmp_path: Path) -> None:
    code = "import warehouse\ntry:\n    import culturescope\nexcept ImportError as error:\n    print(error)"
    done = python(code, home, tmp_path / "mine")
    (line,) = done.stdout.splitlines()
    assert line.startswith("culturescope has a package 'warehouse', and another one is imported already")
    assert str(tmp_path / "mine" / "warehouse.py") in line
    assert "import culturescope before it" in line


def test_a_wheel_holds_every_file_of_the_packages() -> None:
    tool = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages, patterns = tool["packages"]["find"]["include"], tool["package-data"]["*"]
    tops = [pattern.removesuffix("*") for pattern in packages]
    assert "culturescope" in tops
    listed = subprocess.run(["git", "ls-files", *tops], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [Path(line) for line in listed.stdout.splitlines() if "reference/build/" not in line]
    assert len(files) > 300
    left_out = [f for f in files if not any(fnmatch.fnmatch(f.name, p) for p in ("*.py", *patterns))]
    assert not left_out


@pytest.mark.heavy
def test_a_wheel_runs_from_outside_the_checkout(home: Path, tmp_path: Path) -> None:
    """Installed into a folder of its own, before which there is nothing of the checkout on the path."""
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
    copy, site = shutil.copytree(REPOSITORY, tmp_path / "copy", ignore=ignored), tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(copy)], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("culturescope-*.whl")
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, cwd=tmp_path
    )
    shutil.rmtree(copy)
    done = python(RUN, home, tmp_path / "mine", site)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2] == str(site / "tasks" / "__init__.py")
