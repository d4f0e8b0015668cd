"""Level of the test of the treatment effect, and coverage of its interval, by simulation.

Shared openings break both, which is why no two conversations share a sampled turn.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tasks.evaluations.explication.read import Conversations
from tasks.evaluations.explication.rows import _effect_rows
from tasks.evaluations.explication.study import REAL, ConversationKey

SPREADS = {"effect": 0.5, "repetition": 0.5, "opening": 1.0, "rest": 0.7}
"""Standard deviations of grades: of a persona's effect, whose mean is 0, of a persona's repetition in both
conditions, of an opening, and of all else. What personas differ in falls out of the pairs."""


def rates(n_personas: int, repetitions: int, are_shared: bool, samples: int) -> tuple[float, float]:
    """Return share of samples with p of at most 0.05, and share of intervals without 0.

    are_shared: all personas of a repetition have the opening of its condition in common.
    """
    rng = np.random.default_rng(n_personas * 100 + repetitions)
    conditions = ("control", "treatment")
    keys = tuple(
        ConversationKey(REAL, "breakfast", f"{p:02}", condition, r)
        for p in range(n_personas)
        for condition in conditions
        for r in range(repetitions)
    )
    study = SimpleNamespace(params=SimpleNamespace(seed=0))
    chosen = cast("Conversations", SimpleNamespace(keys=keys, study=study))
    shape = (n_personas, 2, repetitions)
    reasons = np.full(len(keys), "", dtype=object)
    rejected, missed = 0, 0
    for _ in range(samples):
        values = rng.normal(0, SPREADS["rest"], shape)
        values += rng.normal(0, SPREADS["effect"] / np.sqrt(2), (n_personas, 2, 1))
        values += rng.normal(0, SPREADS["repetition"], (n_personas, 1, repetitions))
        values += rng.normal(0, SPREADS["opening"], (1, *shape[1:]) if are_shared else shape)
        rows: dict[str, Any] = {
            row.metric: row for row in _effect_rows(chosen, {"apr": (values.ravel(), reasons)})
        }
        effect = rows["treatment_effect"]
        rejected += rows["treatment_p"].value <= 0.05
        missed += not effect.ci_low <= 0 <= effect.ci_high
    return rejected / samples, missed / samples


@pytest.mark.heavy
@pytest.mark.parametrize(("n_personas", "repetitions"), [(6, 3), (30, 3), (30, 10)])
def test_level_and_coverage_hold_where_conversations_share_nothing(n_personas: int, repetitions: int) -> None:
    rejected, missed = rates(n_personas, repetitions, are_shared=False, samples=2000)
    # With six personas, 2 of 64 orders of signs are the most extreme: an exact test rejects in 3.1 %.
    assert 0.023 <= rejected <= 0.07
    assert 0.03 <= missed <= 0.07


@pytest.mark.heavy
@pytest.mark.parametrize("n_personas", [12, 30])
def test_shared_openings_break_level_and_coverage(n_personas: int) -> None:
    rejected, missed = rates(n_personas, 3, are_shared=True, samples=300)
    assert min(rejected, missed) > 0.4
