"""Judges who reason before they score: how scores are read, and their overall score."""

from __future__ import annotations

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
    """The grades of one conversation of which a judge who reasons writes these texts."""
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


def test_reasoned_numbers_are_the_grades() -> None:
    """Three grades of 7, 2.5 and 6 have the mean 31/6; the judge's own overall score stands beside it."""
    own = own_grades({"quality": QUALITY})
    assert own["constraint_awareness"] == pytest.approx(2.5)
    assert own["apr"] == pytest.approx((7 + 2.5 + 6) / 3)
    assert own["interaction"] == pytest.approx(8)
    assert own[OVERALL["quality"]] == pytest.approx(4.5)


def test_a_failure_is_there_from_one_half_and_costs_its_grade_alone() -> None:
    own = own_grades({"quality": QUALITY, "failures": FAILURES})
    assert (own["asked_for_dishes"], own["ignored_cues"], own["contradicted"]) == (1, 0, 0)
    assert own["interaction"] == pytest.approx(4)
    assert own[OVERALL["quality"]] == pytest.approx(4.5)


def test_a_judge_who_gives_no_overall_score_is_unscored_there_alone() -> None:
    own = own_grades({"quality": QUALITY.rpartition("\n")[0]})
    assert own[OVERALL["quality"]] != own[OVERALL["quality"]]
    assert own["apr"] == pytest.approx((7 + 2.5 + 6) / 3)


def test_direct_judges_are_asked_for_no_overall_score() -> None:
    of = study()
    keys = {key for label in of.rubrics for key in judge_call(of, next(of.real()), label, ["Hello"]).keys}
    assert keys.isdisjoint(OVERALL.values())


def test_the_style_is_another_configuration_where_somebody_judges() -> None:
    assert study(judge_style="reasoned").config_hash() != study().config_hash()
    assert study(judges=[], judge_style="reasoned").config_hash() == study(judges=[]).config_hash()


def test_reasoning_needs_room() -> None:
    with pytest.raises(ValueError, match="judges who reason need room"):
        ExplicationParams(models=["m"], judge_style="reasoned", judge_max_tokens=64)
