"""The example of the recipe choice: twelve dishes, four countries each, by log-probability."""

from __future__ import annotations

from tests.golden.harness import Net, recipe_pack

NET = Net(
    params={"models": ["fake-a", "fake-b"], "batch": 5},
    other={"batch": 3},
    keys={"option_score": ("request_hash", "item", "place")},
    kills=(("option_score", ""),),
    prepare=recipe_pack("whence", "choice"),
)
