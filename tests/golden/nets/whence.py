"""The example of the recipe choice: twelve dishes, four countries each, by log-probability."""

from __future__ import annotations

from pathlib import Path

from deployments.packs.folders import write_recipe
from tests.golden.harness import Net


def prepare(home: Path, files: Path) -> None:
    """The evaluation is a pack."""
    write_recipe(home / "packs" / "whence", "choice")


NET = Net(
    params={"models": ["fake-a", "fake-b"], "batch": 5},
    other={"batch": 3},
    asked={"option_score": ("request_hash", "item", "place")},
    kills=(("option_score", ""),),
    prepare=prepare,
)
