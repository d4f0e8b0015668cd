"""The worldwise evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    gain = interval(r["alignment_gain"], r["gain_low"], r["gain_high"])
    return {
        "model": r["model"],
        "gain over null [95 %]": gain,
        "n": number(r["n_scored"]),
        "best null": r["best_null"] or "–",
        "alignment": number(r["alignment"], 2),
        "answered": number(r["answered"], 2),
        "its null": number(r["null_alignment"], 2),
        "sd": number(r["alignment_sd"], 2),
        "MAE": number(r["hofstede_mae"], 2),
        "null MAE": number(r["null_mae"], 2),
        "shift": number(r["value_shift"]),
        "noise": number(r["null_shift"]),
        "recognised": number(r["recognition"], 2),
        "variety": number(r["variety"]),
        "null variety": number(r["null_variety"]),
        "unprompted like": r["closest_culture"] or "–",
        "declined": number(r["decline_share"], 2),
    }


ABOUT = About(
    title="Which values show in a model's reasoning, with and without a persona? (60 countries)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --cultures IN,JP,MX,AE,US --max-usd 2 --dry-run",
        "--scenarios-file mine.csv --targets seed_bucketed --repetitions 1",
    ),
    cohort="Numbers that compare models are over its models",
    caption="The shipped targets, Hofstede's scores, are for research only.",
    columns=_columns,
    notes={
        "gain over null [95 %]": "alignment over the best null model, in points of 10",
        "n": "scored answers with a persona",
        "alignment": "null models reach it too, so read the gain",
        "shift": "of values by a persona, against answers without one",
        "noise": "shift between two halves of one sample",
        "recognised": "share of cultures recognised from the wording",
        "variety": "differences among answers for different cultures",
    },
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
