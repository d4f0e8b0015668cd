"""Every check lets a good draft pass and finds the fault that it is there for."""

from __future__ import annotations

import pytest

from tasks.builders.specnorm.checks import faults, near_duplicates
from tasks.builders.specnorm.drafting import Draft
from tests.builders.specnorm.samples import DRAFT, SEED, spoilt


def reasons(draft: Draft) -> list[str]:
    return [fault.reason for fault in faults(draft)]


def test_a_good_draft_has_no_fault() -> None:
    assert faults(DRAFT) == []


def test_a_cue_that_is_not_named() -> None:
    draft = spoilt(persona="Adam is a Chechen who studies in Grozny.")
    assert reasons(draft) == ["cue_not_named", "cue_not_named"]
    assert [fault.detail for fault in faults(draft)] == [
        "neither persona nor situation says 'Chechnya' (region: Chechnya)",
        "neither persona nor situation says 'young' (age: young)",
    ]


def test_a_cue_may_stand_in_the_situation() -> None:
    draft = spoilt(
        persona="Adam is a Chechen.", situation="In Chechnya a young man gets up for a neighbour of eighty."
    )
    assert faults(draft) == []


def test_a_cue_in_the_question_alone_is_not_named() -> None:
    draft = spoilt(
        persona="Adam is a Chechen who studies in Grozny, a young man.",
        question="Would people in Chechnya find Adam's conduct acceptable?",
    )
    assert reasons(draft) == ["cue_not_named"]


def test_a_label_other_than_asked_for() -> None:
    assert faults(spoilt(label="no"))[0].detail == "asked for a scene with the answer yes, got no"
    assert reasons(spoilt(label="no")) == ["stance_changed"]


@pytest.mark.parametrize(
    "norm",
    [
        "Coffee is ground by hand and boiled three times.",  # another norm
        "Young people do not stand up when an elder enters the room.",  # turned round
    ],
)
def test_a_norm_other_than_the_seed(norm: str) -> None:
    assert reasons(spoilt(norm=norm)) == ["norm_changed"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"situation": "A neighbour comes in, and Adam politely rises."}, "the scene says 'politely'"),
        ({"situation": "Staying seated would be rude, so Adam rises."}, "the scene says 'rude'"),
        ({"situation": "A neighbour comes in, and as tradition demands Adam rises."}, "as tradition demands"),
        (
            {"question": "Is it acceptable that Adam gets up, because his neighbour is old?"},
            "the question gives a reason: 'because his neighbour is old?'",
        ),
        (
            {"question": "Should Adam stand up when an elder enters?"},
            "the norm's words 'stand up when an elder enters'",
        ),
        (
            {"situation": "The young stand up when an elder comes, and so does Adam."},
            "stand in scene or question",
        ),
    ],
)
def test_an_answer_that_shows(changes: dict[str, str], detail: str) -> None:
    leaks = faults(spoilt(**changes))
    assert {fault.reason for fault in leaks} == {"answer_leaked"}
    assert any(detail in fault.detail for fault in leaks)


@pytest.mark.parametrize(
    "question",
    [
        "How would the neighbour see it?",
        "Would the neighbour find Adam's conduct acceptable",
        "Is this acceptable? Why?",
        "Is this acceptable? She wonders.",
        "The neighbour is pleased?",
        "Issues arise?",
    ],
)
def test_a_question_that_yes_or_no_does_not_answer(question: str) -> None:
    assert reasons(spoilt(question=question)) == ["not_a_yes_no_question"]


@pytest.mark.parametrize(
    "question", ["Isn't Adam's conduct fitting?", "May Adam do so?", "is this in order?"]
)
def test_questions_for_yes_or_no(question: str) -> None:
    assert faults(spoilt(question=question)) == []


def test_all_faults_are_listed() -> None:
    draft = spoilt(persona="Adam, a Chechen in Chechnya.", label="no", question="Why?")
    assert reasons(draft) == ["cue_not_named", "stance_changed", "not_a_yes_no_question"]


def test_near_duplicates_keep_the_first() -> None:
    other = spoilt(
        persona="Leila, a young Chechen weaver in Chechnya, has a visitor.",
        situation="Her aunt steps through the gate, while Leila goes on with the loom and looks up at last.",
    )
    twin = spoilt(persona="Adam is a young Chechen who teaches in Chechnya.")
    first, second, third, fourth = near_duplicates([DRAFT, other, twin, DRAFT])
    assert (first, second) == (None, None)
    assert third is not None
    assert third.reason == "near_duplicate"
    assert third.detail.endswith(f"% the same as the draft for seed {SEED.seed}")
    assert fourth is not None
    assert fourth.detail.startswith("100 %")


def test_a_twin_of_what_was_left_out_is_compared_with_what_was_kept() -> None:
    chain = [spoilt(situation="a" * (100 - 12 * i) + "b" * 12 * i) for i in range(3)]
    # Each is close to the next; the third is close to the second, which is out, but not to the first.
    assert [fault is None for fault in near_duplicates(chain, limit=90)] == [True, False, True]
