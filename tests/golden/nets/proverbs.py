"""The example of the recipe judged: twelve sayings and a judge."""

from __future__ import annotations

from tests.golden.harness import SERVED, Net, recipe_pack

NET = Net(
    params={"models": ["fake-a", SERVED], "judges": ["fake-j"], "batch": 5, "max_tokens": 32, "nulls": 8},
    other={"batch": 4},
    keys={"response": ("request_hash", "item")},
    kills=(("response", ""), ("response", "fake-j")),
    prepare=recipe_pack("proverbs", "judged"),
    judged=r"^(judge_|accuracy|exchanged_gain)",
    budget=3_000,
)
