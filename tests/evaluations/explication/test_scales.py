"""Grades are given on the scales on which they are shown, and null grades stand at their own keys."""

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


@pytest.mark.parametrize(("rubric", "name"), [(rubric, name) for rubric in KEYS for name in KEYS[rubric]])
def test_a_grade_is_shown_on_the_scale_of_its_rubric(rubric: str, name: str) -> None:
    assert GRADES[name] == (scaled(rubric, 0.0), scaled(rubric, 1.0))


def test_scales_are_those_of_the_paper() -> None:
    assert (
        dict.fromkeys(("apr", *QUALITY), (1.0, 10.0))
        | dict.fromkeys(("instruction_following", *INSTRUCTIONS), (1.0, 5.0))
        | dict.fromkeys(FAILURES, (0.0, 1.0))
        | {"overall_appropriateness": (1.0, 10.0), "overall_instruction_following": (1.0, 5.0)}
    ) == GRADES


@pytest.fixture(scope="module")
def of() -> ExplicationStudy:
    return study(personas=["aisha-kano", "jonas-lulea"])


def grade(value: float) -> Grades:
    return Grades(dict.fromkeys(APR, value), {}, "")


def test_null_grades_of_a_study_are_the_same_in_every_condition_and_repetition(of: ExplicationStudy) -> None:
    """They are made once for each task and persona; a model's own stand beside each conversation."""
    keys = tuple(of.real())
    held = Conversations(of, keys, (), (), {})
    shared = {
        key._replace(source=source, condition="", repetition=0): grade(2.0 + (source == FIXED))
        for key in keys
        for source in (GENERIC, FIXED)
    }
    for source, value in ((GENERIC, 2.0), (FIXED, 3.0)):
        np.testing.assert_array_equal(held.null_grades(shared, source, "apr"), [value] * len(keys))
    # Under any other key they are none, and a key of another persona is none for this one.
    other = {key._replace(repetition=1): own for key, own in shared.items()}
    assert np.isnan(held.null_grades(other, GENERIC, "apr")).all()
    of_one = {key: own for key, own in shared.items() if key.persona == keys[0].persona}
    known = ~np.isnan(held.null_grades(of_one, GENERIC, "apr"))
    assert known.tolist() == [key.persona == keys[0].persona for key in keys]


def test_a_models_own_null_grades_stand_at_its_own_conversations(of: ExplicationStudy) -> None:
    """In its own order, which need not be the study's, and only of sources that are its own."""
    keys: tuple[ConversationKey, ...] = tuple(reversed(tuple(of.real())))[1:]
    own = {
        key._replace(source=source): grade(float(place + 10 * (source == SILENT)))
        for place, key in enumerate(keys)
        for source in (SHUFFLED, SILENT)
    }
    held = Conversations(of, keys, (), (), own)
    np.testing.assert_array_equal(held.null_grades({}, SHUFFLED, "apr"), range(len(keys)))
    np.testing.assert_array_equal(held.null_grades({}, SILENT, "apr"), np.arange(len(keys)) + 10.0)
    assert np.isnan(held.null_grades(own, GENERIC, "apr")).all()
