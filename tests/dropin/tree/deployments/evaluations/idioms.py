"""How the idioms evaluation is started and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import interval, number
from deployments.evaluations import Door


def columns(r: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``leaderboard_idioms`` as people see it."""
    return {
        "model": r["model"],
        "accuracy [95 %]": interval(r["accuracy"], r["ci_low"], r["ci_high"]),
        "coin": number(r["null_value"]),
        "n": str(r["n_scored"]),
    }


DOOR = Door(
    title="Does a model know what sayings mean? (30 sayings, three languages)",
    models=("smollm2-135m-vllm",),
    examples=("--profile smoke", "-m ./mine.toml --languages en,fr --judge ./judge.toml"),
    caption="Accuracy: share of sayings whose meaning the judge says is given.",
    columns=columns,
)
