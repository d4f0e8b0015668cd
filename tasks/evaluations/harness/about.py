"""Tasks of lm-evaluation-harness as users see them: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from tasks.evaluations.about import About, Column

_BOARD = (
    Column("model", "model"),
    Column("score [95 %]", "score ci_low ci_high"),
    Column("null", "null_value"),
    Column("n", "n_scored"),
    Column("without question", "score_no_question"),
    Column("other question", "score_other_question"),
    Column("answered", "coverage", digits=2),
    Column("cut", "truncated", digits=2),
)  # fmt: skip

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
    board=_BOARD,
    in_all=False,
    profiles={
        # Ten documents of each task, spread over clusters.
        "smoke": {"limit": 10},
        "demo": {"limit": 100},
        # All documents of the named tasks.
        "full": {},
    },
)
