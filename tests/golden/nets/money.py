"""The example of the recipe short_answer: twelve currencies."""

from __future__ import annotations

from pathlib import Path

from deployments.packs.folders import write_recipe
from tests.golden.harness import SERVED, Net


def prepare(home: Path, files: Path) -> None:
    """The evaluation is a pack."""
    write_recipe(home / "packs" / "money", "short_answer")


NET = Net(
    params={"models": ["fake-a", SERVED], "batch": 5, "max_tokens": 32},
    other={"batch": 4},
    asked={"response": ("request_hash", "item")},
    kills=(("response", ""),),
    prepare=prepare,
    budget=400,
)
