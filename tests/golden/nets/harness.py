"""Two invented tasks of lm-evaluation-harness: options that are scored, and texts that are written."""

from __future__ import annotations

from tests.conftest import REPOSITORY
from tests.golden.harness import Net

FILES = REPOSITORY / "tests" / "evaluations" / "harness" / "files"

NET = Net(
    params={
        "models": ["fake-a", "fake-b"],
        "tasks": [str(FILES / "choice.yaml"), str(FILES / "written.yaml")],
        "cluster": "place",
        "slice": ["region"],
        "batch": 5,
    },
    other={"batch": 3},
    keys={"pair_score": ("request_hash", "item", "place"), "response": ("request_hash", "item")},
    kills=(("pair_score", ""), ("response", "")),
    budget=100,
)
