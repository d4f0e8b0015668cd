"""Tasks of lm-evaluation-harness as users see them: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "score [95 %]": interval(r["score"], r["ci_low"], r["ci_high"]),
        "null": number(r["null_value"]),
        "n": "–" if r["n_scored"] is None else str(r["n_scored"]),
        "without question": number(r["score_no_question"]),
        "other question": number(r["score_other_question"]),
        "answered": number(r["coverage"], 2),
        "cut": number(r["truncated"], 2),
    }


ABOUT = About(
    title="How does a model do on tasks of lm-evaluation-harness?",
    models=("smollm2-135m",),
    examples=(
        "--tasks ./mine.yaml --cluster country --slice language",
        "--tasks arab_culture --revision MBZUAI/ArabCulture=COMMIT --fewshot 3 --trust-remote-code",
        "--tasks ./mine.yaml --data '*=./items.jsonl' --chat -m ./mine.toml --dry-run",
    ),
    caption="Score: each task's first metric. null: the best of chance, a fixed place, the longest, shortest "
    "or usual option, the commonest answer. The other columns: the model's score without the right question.",
    columns=_columns,
    in_all=False,
    profiles={
        # Ten documents of each task, spread over clusters.
        "smoke": {"limit": 10},
        "demo": {"limit": 100},
        # All documents of the named tasks.
        "full": {},
    },
)
