"""Every check passes good drafts and finds its fault."""

from __future__ import annotations

import pytest

from tasks.builders.specnorm.checks import faults, near_duplicates
from tests.builders.specnorm.samples import DRAFT, SEED, spoilt

ADAM = "Adam is a Chechen who studies in Grozny"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"persona": "Adam is a Chechen.", "situation": "In Chechnya a young man gets up for a neighbour."},
        *({"question": q} for q in ("Isn't Adam's conduct fitting?", "May Adam do so?", "is this in order?")),
    ],
)
def test_good_drafts_have_no_fault(changes: dict[str, str]) -> None:
    assert faults(spoilt(**changes)) == []


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"persona": f"{ADAM}."}, ["cue_not_named"] * 2),
        ({"persona": f"{ADAM}, a young man.", "question": "Would Chechnya accept this?"}, ["cue_not_named"]),
        ({"label": "no"}, ["stance_changed"]),
        ({"norm": "Coffee is ground by hand and boiled three times."}, ["norm_changed"]),  # another norm
        (
            {"norm": "Young people do not stand up when an elder enters the room."},
            ["norm_changed"],
        ),  # negated
        *(
            ({"question": question}, ["not_a_yes_no_question"])
            for question in (
                "How would the neighbour see it?",
                "Would the neighbour find Adam's conduct acceptable",
                "Is this acceptable? Why?",
                "Is this acceptable? She wonders.",
                "The neighbour is pleased?",
                "Issues arise?",
            )
        ),
        (
            {"persona": "Adam, a Chechen in Chechnya.", "label": "no", "question": "Why?"},
            ["cue_not_named", "stance_changed", "not_a_yes_no_question"],
        ),
    ],
)
def test_all_faults_are_found(changes: dict[str, str], reasons: list[str]) -> None:
    assert [fault.reason for fault in faults(spoilt(**changes))] == reasons


def test_detail_of_a_fault_says_what_is_wrong() -> None:
    cues, stance = faults(spoilt(persona="Adam is a Chechen in Chechnya.", label="no"))
    assert cues.detail == "neither persona nor situation contains 'young' (age: young)"
    assert stance.detail == "asked for a scene with the answer yes, got no"


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
        ({"question": "Should Adam stand up when an elder enters?"}, "'stand up when an elder enters'"),
        ({"situation": "The young stand up when an elder comes, and so does Adam."}, "in scene or question"),
    ],
)
def test_leaked_answer_is_found_with_its_words(changes: dict[str, str], detail: str) -> None:
    leaks = faults(spoilt(**changes))
    assert {fault.reason for fault in leaks} == {"answer_leaked"}
    assert any(detail in fault.detail for fault in leaks)


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


def test_near_duplicate_of_a_dropped_item_is_kept() -> None:
    chain = [spoilt(situation="a" * (100 - 12 * i) + "b" * 12 * i) for i in range(3)]
    # Each is similar to the next; the third is similar to the second, which is dropped, but not to the first.
    assert [fault is None for fault in near_duplicates(chain, limit=90)] == [True, False, True]
