"""The example of the recipe short_answer: twelve currencies."""

from __future__ import annotations

from tests.golden.harness import SERVED, Net, recipe_pack

NET = Net(
    params={"models": ["fake-a", SERVED], "batch": 5, "max_tokens": 32},
    other={"batch": 4},
    keys={"response": ("request_hash", "item")},
    kills=(("response", ""),),
    prepare=recipe_pack("money", "short_answer"),
    budget=400,
)
