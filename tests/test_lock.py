"""The locked versions: what pyproject.toml allows, each with its hashes; no builds for GPUs on a CPU."""

from __future__ import annotations

import re
import tomllib
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


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_a_lock_holds_what_the_project_asks_for(engine: str) -> None:
    extras = PROJECT["optional-dependencies"]
    locked = pins(engine)
    for wanted in map(Requirement, [*PROJECT["dependencies"], *extras[engine], *extras["dev"]]):
        version = locked[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), f"{wanted}, locked is {version}: make lock"


def test_the_cpu_has_no_builds_for_gpus() -> None:
    locked = pins("cpu")
    assert locked["torch"].endswith("+cpu")
    unwanted = re.compile(r"nvidia-|cuda-|cupy|triton|torch(vision|audio|codec)")
    assert not [name for name in locked if unwanted.match(name)]
    assert {name.partition("-")[0] for name in pins("gpu")} >= {"nvidia", "triton"}  # this pattern finds them
