"""The door of the explication evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.show.display import interval, number
from tasks.evaluations.about import About

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


DOOR = About(
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
)
