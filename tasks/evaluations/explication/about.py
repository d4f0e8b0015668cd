"""The explication evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number

_TELLS = {True: "yes", False: "NO", None: "–"}


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "condition": r["condition"] or "–",
        "APR [95 %]": interval(r["apr"], r["apr_low"], r["apr_high"], 2),
        "its null": number(r["apr_null"]),
        "n": number(r["n_judged"]),
        "INT [95 %]": interval(r["interaction"], r["interaction_low"], r["interaction_high"], 2),
        "asks only": number(r["interaction_null"]),
        "tells real": _TELLS[r["tells_real_from_shuffled"]],
        "elicited": number(r["facts_elicited"]),
        "violated": number(r["violated"]),
        "instructions": number(r["instruction_following"]),
        "if left = 1": number(r["apr_if_left_failed"]),
        "recommended": number(r["recommended"]),
        "cut short": number(r["cut_short"]),
        "conversations": r["n_conversations"],
    }


ABOUT = About(
    title="Does a model ask before it recommends? (conversations with simulated users)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --simulator ./user.toml --judges ./judge.toml --repetitions 2 --max-usd 5 --dry-run",
        "--tasks breakfast,gift,./wedding.toml --personas-file ./personas --judges ./judge.toml",
    ),
    caption="",
    columns=_columns,
    notes={
        "APR [95 %]": "how well the recommendation suits the user: judges' score, 1 to 10",
        "its null": "best of three nulls: another user's recommendation, a silent user, one for everybody",
        "n": "conversations with grades",
        "INT [95 %]": "how well the model questions the user",
        "asks only": "INT of nulls that recommend the same to everybody, at once or after fixed questions",
        "tells real": "whether the judges tell a recommendation from another persona's",
        "if left = 1": "APR if a conversation that the user left counted with the worst grade",
        "elicited": "share of the user's facts that were asked for",
    },
    judged="recommendation quality, interaction or instruction following",
    profiles={
        # One persona, one repetition, three turns; the small model plays all roles. It shows that everything
        # runs.
        "smoke": {
            "max_personas": 1,
            "repetitions": 1,
            "max_turns": 3,
            "max_tokens": 96,
            "simulator_max_tokens": 48,
            "judge_max_tokens": 256,
            "judges": ["smollm2-135m-vllm"],
        },
        # Three personas, both conditions, two repetitions, five turns; the small model plays all roles and
        # judges itself.
        "demo": {
            "max_personas": 3,
            "repetitions": 2,
            "max_turns": 5,
            "max_tokens": 160,
            "simulator_max_tokens": 80,
            "judge_max_tokens": 256,
            "judges": ["smollm2-135m-vllm"],
        },
        # All 30 invented personas, three tasks, both conditions, ten repetitions. (The paper: breakfast, ten
        # interviewed people, ten repetitions.) Name a simulator and judges.
        "full": {"tasks": ["breakfast", "gift", "celebration"], "repetitions": 10, "batch": 256},
        # Section 5 of the paper: breakfast, ten repetitions, no limit on turns. Name GPT-4o as simulator and
        # judge; the authors' prompts and the personas of interviewed people come from a pack (culturemeter
        # pack new explication --as-published).
        "paper": {
            "tasks": ["breakfast"],
            "repetitions": 10,
            "temperature": 1.0,
            "max_turns": 0,
            "judge_style": "reasoned",
            "batch": 256,
        },
    },
)
