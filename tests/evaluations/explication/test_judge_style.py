"""Judges who reason before they score."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.read import GRADES, grade_of, grades, judge_call
from tasks.evaluations.explication.study import OVERALL
from tasks.judging.verdicts import read_opinions
from tasks.loop.prompts import Completion
from tests.evaluations.explication.conftest import study

QUALITY = """It asked about meals, but took no notice of the diet.
Score of cultural_depth: 7
**Score of constraint_awareness:** 2.5
Score of personalisation = 6/10
Score of interaction: 8
Score of overall_appropriateness: 4.5"""
FAILURES = """It asked for a dish.
Score of asked_for_dishes: 0.9
Score of ignored_cues: 0
Score of contradicted: 0.2"""


def own_grades(texts: dict[str, str]) -> dict[str, float]:
    """Return the grades of a conversation from these texts of a judge who reasons."""
    of = study(judge_style="reasoned")
    key = next(of.real())
    calls = [judge_call(of, key, label, ["Hello"]) for label in texts]
    opinions = {
        "judge": {
            call.key: read_opinions(Completion(texts[call.label], "stop", 9, 3), call.keys, call.rubric)
            for call in calls
        }
    }
    own = grades(of, calls, opinions)[key]
    return {name: grade_of(own, name) for name in (*GRADES, "apr")}


def test_reasoned_scores_are_the_grades_and_the_overall_score_may_be_missing() -> None:
    own = own_grades({"quality": QUALITY})
    assert own["constraint_awareness"] == pytest.approx(2.5)
    assert own["apr"] == pytest.approx((7 + 2.5 + 6) / 3)
    assert own["interaction"] == pytest.approx(8)
    assert own[OVERALL["quality"]] == pytest.approx(4.5)
    without = own_grades({"quality": QUALITY.rpartition("\n")[0]})
    assert np.isnan(without[OVERALL["quality"]])
    assert without["apr"] == pytest.approx((7 + 2.5 + 6) / 3)


def test_failure_counts_from_one_half_and_lowers_only_its_grade() -> None:
    own = own_grades({"quality": QUALITY, "failures": FAILURES})
    assert (own["asked_for_dishes"], own["ignored_cues"], own["contradicted"]) == (1, 0, 0)
    assert own["interaction"] == pytest.approx(4)
    assert own[OVERALL["quality"]] == pytest.approx(4.5)


def test_judge_style_changes_config_hash_and_keys_and_needs_tokens() -> None:
    direct = study()
    assert study(judge_style="reasoned").config_hash() != direct.config_hash()
    assert study(judges=[], judge_style="reasoned").config_hash() == study(judges=[]).config_hash()
    key = next(direct.real())
    keys = {name for label in direct.rubrics for name in judge_call(direct, key, label, ["Hello"]).keys}
    assert keys.isdisjoint(OVERALL.values())
    with pytest.raises(ValueError, match="judges who reason need tokens"):
        ExplicationParams(models=["m"], judge_style="reasoned", judge_max_tokens=64)
