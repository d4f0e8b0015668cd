"""Pins exclude versions with which the Prefect server fails; the wheel is complete and runs from anywhere.

``packaging/test_light.py`` installs it into a clean environment.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BASE = {r.name.lower(): r for r in map(Requirement, PROJECT["dependencies"])}

BUILT = """
from setuptools import Distribution
distribution = Distribution({"script_name": "setup.py"})
distribution.parse_config_files()
distribution.include_package_data = False
command = distribution.get_command_obj("build_py")
command.ensure_finalized()
command.build_lib = ""
print(*command.get_outputs(include_bytecode=False), sep="\\n")
"""
PACKAGES = ("culturemeter", "deployments", "flows", "scrapers", "tasks", "warehouse")
NAMESAKES = "raise SystemExit('a namesake in the working directory was imported')\n"


def versioned() -> list[str]:
    """Return the versioned files of the project's packages."""
    command = ["git", "ls-files", "-z", *PACKAGES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).exists())


def test_every_versioned_file_is_in_the_wheel() -> None:
    arguments = [sys.executable, "-W", "ignore", "-c", BUILT]
    built = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    missing = set(versioned()) - set(built.stdout.split("\n"))
    assert not missing, "add their endings to package-data in pyproject.toml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of ``python -m build`` from the versioned files only."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in [*versioned(), "pyproject.toml", "README.md", "LICENSE", "NOTICE"]:
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "copy" / name)
    arguments = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), "copy"]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
@pytest.mark.heavy
def test_wheel_contains_exactly_the_versioned_files(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    assert sorted(n for n in names if ".dist-info/" not in n) == versioned()


@pytest.mark.slow
@pytest.mark.heavy
def test_wheel_runs_beside_modules_of_the_same_names(
    wheel: Path, smollm2_folder: Path, tmp_path: Path
) -> None:
    """The environment has the wheel and the present libraries; the folder has its own tasks.py and flows/."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    bin_folder = tmp_path / "venv" / "bin"
    install = [str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    work = tmp_path / "work"
    (work / "flows").mkdir(parents=True)
    for name in ("tasks.py", "flows/__init__.py", "warehouse.py", "deployments.py"):
        (work / name).write_text(NAMESAKES)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(smollm2_folder.parent)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "CULTUREMETER_", "PYTHON"))}
    environment = kept | {"CULTUREMETER_HOME": str(tmp_path / "home")}

    def run(*arguments: str) -> str:
        program = str(bin_folder / arguments[0])
        done = subprocess.run(
            [program, *arguments[1:]], cwd=work, env=environment, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    where = "import culturemeter as cs, tasks, flows; print(cs.__file__, tasks.__file__, flows.__file__)"
    assert run("python", "-c", where).count(str(site)) == 3
    small = ("--domains", "currency", "--max-items", "5", "--half-samples", "20")
    run("culturemeter", "run", "spectral", "--profile", "smoke", "-m", "smollm2-135m", "--no-server", *small)
    assert "smollm2-135m" in run("culturemeter", "leaderboard", "spectral")
    from_python = (
        "import culturemeter as cs; print(cs.leaderboard()['model'].to_list(), cs.sql('FROM run').height)"
    )
    assert "smollm2-135m" in run("python", "-c", from_python)
    run("culturemeter", "pack", "new", "mine", "--for", "spectral")
    run("culturemeter", "pack", "check", "mine")


def test_the_server_has_versions_that_work_together() -> None:
    """Prefect 3.7.7 needs an older FastAPI and SQLAlchemy than its metadata say."""
    installed, web = Version(version("prefect")), Version(version("fastapi"))
    assert installed > Version("3.7.7") or web < Version("0.137")  # it passes Body(min_items), which is gone
    assert not any(BASE["sqlalchemy"].specifier.contains(each) for each in ("2.1.0", "2.1.9"))


def test_every_bound_above_has_its_reason_on_the_page() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([^`]+)` \|", page, re.M))
    wanted = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    assert explained == {text for text in map(str, map(Requirement, wanted)) if re.search("<|==|~=|!=", text)}


def test_extras_do_not_repeat_pinned_packages() -> None:
    for extra, wanted in PROJECT["optional-dependencies"].items():
        names = {Requirement(each).name.lower() for each in wanted}
        assert not names & {"prefect", "fastapi", "sqlalchemy"}, extra


def test_extra_reference_has_every_import_of_its_build() -> None:
    files = sorted((ROOT / "warehouse" / "reference" / "build").glob("*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {*sys.stdlib_module_names, "scrapers", "warehouse", *(file.stem for file in files)}
    foreign = {name.partition(".")[0] for name in names} - own
    extra = {Requirement(each).name.lower() for each in PROJECT["optional-dependencies"]["reference"]}
    assert "pycountry" in foreign
    assert foreign <= extra | set(BASE)
