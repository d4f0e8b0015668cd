"""How the culturall evaluation is started and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import interval, number
from deployments.evaluations import Door


def columns(r: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``leaderboard_culturall`` as people see it."""
    return {
        "model": r["model"],
        "accuracy [95 %]": interval(r["accuracy"], r["ci_low"], r["ci_high"]),
        "guessing": number(r["null_value"]),
        "matched": number(r["accuracy_matched"]),
        "without scenario": number(r["accuracy_question"]),
        "in English": number(r["accuracy_english"]),
        "English gain [95 %]": interval(r["english_gain"], r["english_gain_low"], r["english_gain_high"]),
        "easy": number(r["easy"]),
        "medium": number(r["medium"]),
        "hard": number(r["hard"]),
        "judge": "–" if r["is_null"] or r["judge_flagged"] is None else "FLAGGED" if r["judge_flagged"] else "checked",
        "answered": number(r["coverage"]),
        "items": r["n_items"],
    }


DOOR = Door(
    title="Can a model solve grounded tasks in 14 languages? (CulturALL)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --judges ./judge.toml --languages zh,km --max-usd 2 --dry-run",
        "-m ./gpt.toml --judges ./judge.toml --file annotated_data.xlsx",
        "--conditions native,retrieval --documents ./handbooks",
    ),
    caption="Items are not checked by people unless the table says so. FLAGGED: the judge accepts under 90 % of "
    "gold answers or refuses under 90 % of others.",
    columns=columns,
)
