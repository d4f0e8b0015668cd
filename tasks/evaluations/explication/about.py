"""The explication evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from operator import itemgetter

from tasks.evaluations.about import About, Column

_TELLS = {True: "yes", False: "NO", None: "–"}


_BOARD = (
    Column("model", "model"),
    Column("condition", lambda r: r["condition"] or "–"),
    Column("APR [95 %]", "apr apr_low apr_high",
           "how well the recommendation suits the user: judges' score, 1 to 10", 2),
    Column("its null", "apr_null",
           "best of three nulls: another user's recommendation, a silent user, one for everybody"),
    Column("n", "n_judged", "conversations with grades"),
    Column("INT [95 %]", "interaction interaction_low interaction_high",
           "how well the model questions the user", 2),
    Column("asks only", "interaction_null",
           "INT of nulls that recommend the same to everybody, at once or after fixed questions"),
    Column("tells real", lambda r: _TELLS[r["tells_real_from_shuffled"]],
           "whether the judges tell a recommendation from another persona's"),
    Column("elicited", "facts_elicited", "share of the user's facts that were asked for"),
    Column("violated", "violated"),
    Column("instructions", "instruction_following"),
    Column("if left = 1", "apr_if_left_failed",
           "APR if a conversation that the user left counted with the worst grade"),
    Column("recommended", "recommended"),
    Column("cut short", "cut_short"),
    Column("conversations", itemgetter("n_conversations")),
)  # fmt: skip

ABOUT = About(
    title="Does a model ask before it recommends? (conversations with simulated users)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --simulator ./user.toml --judges ./judge.toml --repetitions 2 --max-usd 5 --dry-run",
        "--tasks breakfast,gift,./wedding.toml --personas-file ./personas --judges ./judge.toml",
    ),
    board=_BOARD,
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
