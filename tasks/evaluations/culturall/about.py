"""The culturall evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, Column, number

Row = Mapping[str, Any]


def _judge(r: Row) -> str:
    """Return whether the judges pass their own check."""
    if r["is_null"] or r["judge"] is None:
        return "–" if r["is_null"] else "none: matched"
    return {True: "FAILS ITS CHECK", False: "passes its check", None: "not checked"}[r["judge_flagged"]]


def _validated(r: Row) -> str:
    if r["is_null"] or r["judge"] is None:
        return "–"
    return f"{'yes' if r['validated'] else 'no'}{', own family' if r['self_preference'] else ''}"


def _checked(r: Row) -> str:
    """Return the number of items that people have checked."""
    n, unchecked = r["n_items"], r["n_not_checked"]
    return number(n) if n is None or unchecked is None else f"{n - unchecked} of {n}"


def _unread(r: Row) -> str:
    """Return the share of answers that are not read, and accuracy if all were wrong or all right."""
    if not r["match_read"] or r["match_read"] == 1:
        return "–" if r["match_read"] is None else f"{1 - r['match_read']:.0%}"
    return f"{1 - r['match_read']:.0%} ({r['matched_low']:.2f} to {r['matched_high']:.2f})"


def _published(r: Row, level: str) -> str | None:
    """Return the accuracy by a level of the paper, if the items give how many of its settings solve them."""
    is_there = any(r[f"published_{each}"] is not None for each in ("easy", "medium", "hard"))
    return number(r[f"published_{level}"], 2) if is_there else None


_BOARD = (
    Column("model", "model"),
    Column("accuracy [95 %]", "accuracy ci_low ci_high", digits=2),
    Column("null", "null_value", "score of guessing", 2),
    Column("n", "n_scored", "items scored"),
    Column("judge", _judge,
           "fails its check if, overall or in a language, it accepts under 90 % of gold answers, or rejects "
           "under 90 % of wrong or of empty answers"),
    Column("checked", _checked, "items that people have checked"),
    Column("validated", _validated, "whether the judges were compared with people"),
    Column("of answers", "accuracy_answered", "accuracy without lost answers", 2),
    Column("matched", "accuracy_matched", "accuracy by match, of the answers that matching reads", 2),
    Column("not read", _unread,
           "answers that matching does not read (accuracy by match if all were wrong, all right)"),
    Column("no scenario", "accuracy_question", digits=2),
    Column("English gain [95 %]", "english_gain english_gain_low english_gain_high", digits=2),
    Column("with passages", "accuracy_retrieval", digits=2),
    Column("easy", "easy", digits=2),
    Column("medium", "medium", digits=2),
    Column("hard", "hard", digits=2),
    Column("answered", "coverage", digits=2),
    Column("easy as published", lambda r: _published(r, "easy")),
    Column("medium as published", lambda r: _published(r, "medium")),
    Column("hard as published", lambda r: _published(r, "hard")),
)  # fmt: skip

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
    board=_BOARD,
    judged="judged accuracy, only accuracy by match",
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
