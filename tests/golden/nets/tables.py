"""The example of the recipe preference: dishes of two places in eight contexts."""

from __future__ import annotations

from tests.golden.harness import Net, recipe_pack

NET = Net(
    params={"models": ["fake-a", "fake-b"], "batch": 3},
    other={"batch": 2},
    keys={"candidate_score": ("request_hash", "prompt", "candidate")},
    kills=(("candidate_score", ""),),
    prepare=recipe_pack("tables", "preference"),
)
