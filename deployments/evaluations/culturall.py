"""The door of the culturall evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.door import Door
from deployments.show.display import interval, number


def _judge(r: Mapping[str, Any]) -> str:
    """Whether the judges pass their own check."""
    if r["is_null"] or r["judge"] is None:
        return "–" if r["is_null"] else "none: matched"
    return {True: "FAILS ITS CHECK", False: "passes its check", None: "not checked"}[r["judge_flagged"]]


def _validated(r: Mapping[str, Any]) -> str:
    if r["is_null"] or r["judge"] is None:
        return "–"
    return f"{'yes' if r['validated'] else 'no'}{', own family' if r['self_preference'] else ''}"


def _checked(r: Mapping[str, Any]) -> str:
    """Return the number of items that people have checked."""
    n, unchecked = r["n_items"], r["n_not_checked"]
    return number(n) if n is None or unchecked is None else f"{n - unchecked} of {n}"


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "accuracy [95 %]": interval(r["accuracy"], r["ci_low"], r["ci_high"], 2),
        "null": number(r["null_value"], 2),
        "judge": _judge(r),
        "checked": _checked(r),
        "validated": _validated(r),
        "of answers": number(r["accuracy_answered"], 2),
        "matched": number(r["accuracy_matched"], 2),
        "no scenario": number(r["accuracy_question"], 2),
        "English gain [95 %]": interval(r["english_gain"], r["english_gain_low"], r["english_gain_high"], 2),
        "with passages": number(r["accuracy_retrieval"], 2),
        "easy": number(r["easy"], 2),
        "medium": number(r["medium"], 2),
        "hard": number(r["hard"], 2),
        "answered": number(r["coverage"], 2),
    }


DOOR = Door(
    title="Can a model solve grounded tasks in 14 languages? (CulturALL)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --judges ./judge.toml --languages zh,km --max-usd 2 --dry-run",
        "-m ./gpt.toml --judges ./judge.toml --file annotated_data.xlsx --conditions native",
        "--conditions native,retrieval --documents ./handbooks",
    ),
    caption="null: guessing. Checked: items that people have checked. Validated: judges, against people. A "
    "judge fails its check if it accepts under 90 % of gold answers, or refuses under 90 % of others or of "
    "empty ones, overall or in a language.",
    columns=_columns,
    judged="accuracy by a judge, only by match",
)
