"""The worldwise evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from tasks.evaluations.about import About, Column

_BOARD = (
    Column("model", "model"),
    Column("gain over null [95 %]", "alignment_gain gain_low gain_high",
           "alignment over the best null model, in points of 10"),
    Column("n", "n_scored", "scored answers with a persona"),
    Column("best null", lambda r: r["best_null"] or "–"),
    Column("alignment", "alignment", "null models reach it too, so read the gain", 2),
    Column("answered", "answered", digits=2),
    Column("its null", "null_alignment", digits=2),
    Column("sd", "alignment_sd", digits=2),
    Column("MAE", "hofstede_mae", digits=2),
    Column("null MAE", "null_mae", digits=2),
    Column("shift", "value_shift", "of values by a persona, against answers without one"),
    Column("noise", "null_shift", "shift between two halves of one sample"),
    Column("recognised", "recognition", "share of cultures recognised from the wording", 2),
    Column("variety", "variety", "differences among answers for different cultures"),
    Column("null variety", "null_variety"),
    Column("unprompted like", lambda r: r["closest_culture"] or "–"),
    Column("declined", "decline_share", digits=2),
)  # fmt: skip

ABOUT = About(
    title="Which values show in a model's reasoning, with and without a persona? (60 countries)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --cultures IN,JP,MX,AE,US --max-usd 2 --dry-run",
        "--pack mine --targets seed_bucketed --repetitions 1",
    ),
    cohort="Numbers that compare models are over its models",
    caption="The shipped targets, Hofstede's scores, are for research only.",
    board=_BOARD,
    profiles={
        "smoke": {
            "cultures": ["IN", "JP", "US"],
            "scenarios_per_dimension": 1,
            "multi_dimensional": False,
            "repetitions": 1,
            "max_tokens": 320,
        },
        # The paper's five countries and no persona, two scenarios per dimension, two answers to each.
        "demo": {
            "cultures": ["AE", "IN", "JP", "MX", "US"],
            "targets": "seed_bucketed",
            "scenarios_per_dimension": 2,
            "repetitions": 2,
            "max_tokens": 200,
        },
        # Every country with six published scores, every scenario, three answers to each.
        "full": {"batch": 256},
        # WorldWiseAI (2024): its five countries and no persona, every scenario once, its sampling, form and
        # tests. Its texts come from a pack: culturemeter pack from worldwise --data CLONE, then --pack
        # worldwise-published.
        "paper": {
            "cultures": ["AE", "IN", "JP", "MX", "US"],
            "targets": "seed_bucketed",
            "repetitions": 1,
            "answer_format": "text",
            "temperature": 0.7,
            "max_tokens": 1000,
            "stereotype_rule": "program",
            "unread": "zero",
            "other_values": "counted",
            "reproduce": True,
        },
    },
)
