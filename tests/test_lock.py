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
def test_a_lock_holds_what_the_project_asks_for(engine: str) -> None:
    extras = PROJECT["optional-dependencies"]
    locked = pins(engine)
    for each in wanted([*PROJECT["dependencies"], *extras[engine], *extras["dev"]]):
        version = locked[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each}, locked is {version}: make lock"


def test_the_cpu_has_no_builds_for_gpus() -> None:
    locked = pins("cpu")
    assert locked["torch"].endswith("+cpu")
    unwanted = re.compile(r"nvidia-|cuda-|cupy|triton|torch(vision|audio|codec)")
    assert not [name for name in locked if unwanted.match(name)]
    assert {name.partition("-")[0] for name in pins("gpu")} >= {"nvidia", "triton"}  # this pattern finds them
