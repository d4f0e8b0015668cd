"""Run profiles: named sets of parameters, one TOML file each, one table per evaluation."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "profiles"


def names() -> list[str]:
    """The shipped profiles, smallest first."""
    return ["smoke", "demo", "full"]


def load(profile: str, evaluation: str) -> dict[str, Any]:
    """The profile's parameters for an evaluation, with its name as the ``profile`` label.

    Raises:
        ValueError: no such profile; lists those that exist.
    """
    path = FOLDER / f"{profile}.toml"
    if not path.is_file():
        raise ValueError(f"there is no profile {profile!r}; choose one of {', '.join(names())}")
    return {**tomllib.loads(path.read_text()).get(evaluation, {}), "profile": profile}
