"""The culturall evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _judge(r: Mapping[str, Any]) -> str:
    """Return whether the judges pass their own check."""
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


def _unread(r: Mapping[str, Any]) -> str:
    """Return the share of answers that are not read, and accuracy if all were wrong or all right."""
    if not r["match_read"] or r["match_read"] == 1:
        return "–" if r["match_read"] is None else f"{1 - r['match_read']:.0%}"
    return f"{1 - r['match_read']:.0%} ({r['matched_low']:.2f} to {r['matched_high']:.2f})"


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "accuracy [95 %]": interval(r["accuracy"], r["ci_low"], r["ci_high"], 2),
        "null": number(r["null_value"], 2),
        "n": number(r["n_scored"]),
        "judge": _judge(r),
        "checked": _checked(r),
        "validated": _validated(r),
        "of answers": number(r["accuracy_answered"], 2),
        "matched": number(r["accuracy_matched"], 2),
        "not read": _unread(r),
        "no scenario": number(r["accuracy_question"], 2),
        "English gain [95 %]": interval(r["english_gain"], r["english_gain_low"], r["english_gain_high"], 2),
        "with passages": number(r["accuracy_retrieval"], 2),
        "easy": number(r["easy"], 2),
        "medium": number(r["medium"], 2),
        "hard": number(r["hard"], 2),
        "answered": number(r["coverage"], 2),
    } | _published_levels(r)


def _published_levels(r: Mapping[str, Any]) -> dict[str, Any]:
    """Return the accuracy by the paper's levels, if the items give how many of its settings solve them."""
    levels = ("published_easy", "published_medium", "published_hard")
    if all(r[level] is None for level in levels):
        return {}
    return {f"{level.partition('_')[2]} as published": number(r[level], 2) for level in levels}


ABOUT = About(
    title="Can a model solve grounded tasks in 14 languages? (CulturALL)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --judges ./judge.toml --languages zh,km --max-usd 2 --dry-run",
        "-m ./gpt.toml --judges ./judge.toml --file annotated_data.xlsx --conditions native",
        "--conditions native,retrieval --documents ./handbooks",
    ),
    cohort="Levels of difficulty come from its models",
    caption="",
    columns=_columns,
    judged="judged accuracy, only accuracy by match",
    notes={
        "null": "score of guessing",
        "n": "items scored",
        "judge": "fails its check if, overall or in a language, it accepts under 90 % of gold answers, or "
        "rejects under 90 % of wrong or of empty answers",
        "checked": "items that people have checked",
        "validated": "whether the judges were compared with people",
        "of answers": "accuracy without lost answers",
        "matched": "accuracy by match, of the answers that matching reads",
        "not read": "answers that matching does not read (accuracy by match if all were wrong, all right)",
    },
    profiles={
        # One item of each language. The embedded models do not reason first, so 64 tokens are enough.
        "smoke": {
            "items_per_language": 1,
            "conditions": ["native", "question"],
            "judges": ["smollm2-135m-vllm"],
            "max_tokens": 64,
            "judge_max_tokens": 64,
        },
        # Three items of each language. The small model judges itself: this shows how it works, and a warning
        # says so.
        "demo": {
            "items_per_language": 3,
            "judges": ["smollm2-135m-vllm"],
            "max_tokens": 64,
            "judge_max_tokens": 64,
        },
        # All items.
        "full": {"batch": 256},
        # Lin et al. (2026), as in their program: all items, as written and in English, and a judge who
        # answers 1 or 0. Items and prompts come from a pack (culturemeter pack from culturall --data FOLDER).
        # Name the judge (--judges); the paper's is gpt-4o-2024-11-20.
        "paper": {"conditions": ["native", "english"], "judge_style": "reasoned", "batch": 256},
        # As in their text: figure 12 has other words for the judge than the program. Copy it into the form
        # that culturemeter pack new culturall --as-published writes, and name that pack last.
        "paper-text": {"conditions": ["native", "english"], "judge_style": "reasoned", "batch": 256},
    },
)
