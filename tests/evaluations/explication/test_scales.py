"""Scales of grades, and the keys of null grades."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.explication.read import (
    FAILURES,
    GRADES,
    INSTRUCTIONS,
    KEYS,
    QUALITY,
    Conversations,
    Grades,
    scaled,
)
from tasks.evaluations.explication.study import (
    FIXED,
    GENERIC,
    SHUFFLED,
    SILENT,
    ConversationKey,
    ExplicationStudy,
)
from tests.evaluations.explication.conftest import study

APR = QUALITY[:3]


def test_grades_have_the_scales_of_the_paper_and_their_rubrics() -> None:
    for rubric, names in KEYS.items():
        assert {GRADES[name] for name in names} == {(scaled(rubric, 0.0), scaled(rubric, 1.0))}
    assert (
        dict.fromkeys(("apr", *QUALITY, "overall_appropriateness"), (1.0, 10.0))
        | dict.fromkeys(("instruction_following", *INSTRUCTIONS), (1.0, 5.0))
        | dict.fromkeys(FAILURES, (0.0, 1.0))
        | {"overall_instruction_following": (1.0, 5.0)}
    ) == GRADES


@pytest.fixture(scope="module")
def of() -> ExplicationStudy:
    return study(personas=["aisha-kano", "jonas-lulea"])


def grade(value: float) -> Grades:
    return Grades(dict.fromkeys(APR, value), {}, "")


def test_null_grades_of_a_study_hold_for_all_conditions_and_repetitions(of: ExplicationStudy) -> None:
    keys = tuple(of.real())
    chosen = Conversations(of, keys, (), (), {})
    shared = {
        key._replace(source=source, condition="", repetition=0): grade(2.0 + (source == FIXED))
        for key in keys
        for source in (GENERIC, FIXED)
    }
    for source, value in ((GENERIC, 2.0), (FIXED, 3.0)):
        np.testing.assert_array_equal(chosen.null_grades(shared, source, "apr"), [value] * len(keys))
    other = {key._replace(repetition=1): own for key, own in shared.items()}
    assert np.isnan(chosen.null_grades(other, GENERIC, "apr")).all()
    of_one = {key: own for key, own in shared.items() if key.persona == keys[0].persona}
    known = ~np.isnan(chosen.null_grades(of_one, GENERIC, "apr"))
    assert known.tolist() == [key.persona == keys[0].persona for key in keys]


def test_null_grades_of_a_model_are_its_own_conversations(of: ExplicationStudy) -> None:
    """In the order of its conversations."""
    keys: tuple[ConversationKey, ...] = tuple(reversed(tuple(of.real())))[1:]
    own = {
        key._replace(source=source): grade(float(place + 10 * (source == SILENT)))
        for place, key in enumerate(keys)
        for source in (SHUFFLED, SILENT)
    }
    chosen = Conversations(of, keys, (), (), own)
    np.testing.assert_array_equal(chosen.null_grades({}, SHUFFLED, "apr"), range(len(keys)))
    np.testing.assert_array_equal(chosen.null_grades({}, SILENT, "apr"), np.arange(len(keys)) + 10.0)
    assert np.isnan(chosen.null_grades(own, GENERIC, "apr")).all()
