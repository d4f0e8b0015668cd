"""The example of the recipe preference: dishes of two places in eight contexts."""

from __future__ import annotations

from pathlib import Path

from deployments.packs.folders import write_recipe
from tests.golden.harness import Net


def prepare(home: Path, files: Path) -> None:
    """The evaluation is a pack."""
    write_recipe(home / "packs" / "tables", "preference")


NET = Net(
    params={"models": ["fake-a", "fake-b"], "batch": 3},
    other={"batch": 2},
    asked={"candidate_score": ("request_hash", "prompt", "candidate")},
    kills=(("candidate_score", ""),),
    prepare=prepare,
)
