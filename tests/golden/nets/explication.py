"""Two personas, both conditions, two seeds, five turns; a candidate is also the simulator."""

from __future__ import annotations

from tests.golden.harness import Net

NET = Net(
    params={
        "models": ["fake-a", "fake-b"],
        "simulator": "fake-b",
        "judges": ["fake-j"],
        "personas": ["aisha-kano", "leila-lyon"],
        "repetitions": 2,
        "max_turns": 5,
        "max_tokens": 32,
        "simulator_max_tokens": 32,
        "judge_max_tokens": 128,
        "batch": 16,
    },
    other={"batch": 3},
    keys={"response": ("request_hash", "item")},
    kills=(("response", ""), ("response", "fake-a"), ("response", "fake-j")),
    judged=r"^(apr|interaction|instruction_following|cultural_depth|constraint_awareness|personalisation|format"
    r"|behaviour|focus|asked_for_dishes|ignored_cues|contradicted|tells_real|variance_share"
    r"|treatment_\w+ metric (apr|interaction|instruction_following))",
    budget=15_000,
)
