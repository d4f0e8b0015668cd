"""The example of the recipe judged: twelve sayings and a judge."""

from __future__ import annotations

from pathlib import Path

from deployments.packs.folders import write_recipe
from tests.golden.harness import SERVED, Net


def prepare(home: Path, files: Path) -> None:
    """The evaluation is a pack."""
    write_recipe(home / "packs" / "proverbs", "judged")


NET = Net(
    params={"models": ["fake-a", SERVED], "judges": ["fake-j"], "batch": 5, "max_tokens": 32, "nulls": 8},
    other={"batch": 4},
    asked={"response": ("request_hash", "item")},
    kills=(("response", ""), ("response", "fake-j")),
    prepare=prepare,
    judged=r"^(judge_|accuracy|exchanged_gain)",
    budget=3_000,
)
