"""The base install, without vLLM: its pins keep out what the Prefect server does not start with."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = {r.name.lower(): r for r in map(Requirement, PROJECT["dependencies"])}
MODELS = ("torch", "transformers", "accelerate", "gguf", "sentence-transformers")
"""Gigabytes that a server has no use for: left out where it is tried."""


START = """
import pathlib, sys
from deployments import server
home = pathlib.Path(sys.argv[1])
with server.started(home, server.free_port()) as url:
    print("started", url)
"""


@pytest.mark.parametrize(
    ("package", "broken"),
    [
        ("fastapi", ["0.137.0", "0.140.1"]),  # Prefect 3.7.7 passes Body(min_items), which is gone
        ("sqlalchemy", ["2.1.0", "2.1.3"]),  # its scheduler fails
    ],
)
def test_pins_keep_out_what_the_server_fails_with(package: str, broken: list[str]) -> None:
    assert str(BASE["prefect"].specifier) == "==3.7.7"  # else try whether the pins are still needed
    allowed = BASE[package].specifier
    assert not any(allowed.contains(each) for each in broken)
    assert allowed.contains(version(package))
    assert version("prefect") == "3.7.7"


def test_no_extra_loosens_a_pin() -> None:
    for extra, wanted in PROJECT["optional-dependencies"].items():
        names = {Requirement(each).name.lower() for each in wanted}
        assert not names & {"prefect", "fastapi", "sqlalchemy"}, extra


def test_the_extra_of_the_reference_data_names_what_its_build_imports() -> None:
    files = sorted((ROOT / "warehouse" / "reference" / "build").glob("*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {*sys.stdlib_module_names, "scrapers", "warehouse", *(file.stem for file in files)}
    foreign = {name.partition(".")[0] for name in names} - own
    extra = {Requirement(each).name.lower() for each in PROJECT["optional-dependencies"]["reference"]}
    assert "pycountry" in foreign
    assert foreign <= extra | set(BASE)


@pytest.mark.slow
@pytest.mark.heavy
def test_a_clean_base_install_starts_the_server(tmp_path: Path) -> None:
    """In an environment of its own, from the package index; without the libraries that run models."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    wanted = [str(each) for name, each in BASE.items() if name not in MODELS]
    copy = shutil.copytree(
        ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "build", "*.egg-info")
    )
    for arguments in (wanted, ["--no-deps", str(copy)]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True, cwd=tmp_path)
    done = subprocess.run(
        [python, "-c", START, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=900,
    )
    assert re.search(r"^started http://127", done.stdout, re.MULTILINE), done.stdout + done.stderr
