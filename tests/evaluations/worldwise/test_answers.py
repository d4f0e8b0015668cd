"""Reading answers: JSON and free text, good and bad; and the text that is embedded."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.read import WorldwiseAnswer, composed, read_answer
from tasks.evaluations.worldwise.study import DECISIONS, Scenario
from tasks.loop.prompts import Completion

LABELS = [
    "Family Harmony",
    "Future Planning",
    "Achievement & Success",
    "Work-Life Balance",
    "Loyalty",
    "Duty & Obligation",
]
TOP = ("Family Harmony", "Loyalty", "Future Planning")


def as_json(**fields: Any) -> str:
    """A whole answer, with the fields given in their place."""
    values = {f"value_{i + 1}": value for i, value in enumerate(TOP)}
    return json.dumps({"decision": "A", **values, "explanation": "Kin come first."} | fields)


def from_json(text: str, finish_reason: str = "stop") -> WorldwiseAnswer | str:
    return read_answer(Completion(text, finish_reason, 1, 1), LABELS, True)


def from_text(text: str, finish_reason: str = "stop") -> WorldwiseAnswer | str:
    return read_answer(Completion(text, finish_reason, 1, 1), LABELS, False)


# --- JSON


def test_a_whole_answer_keeps_its_order() -> None:
    assert from_json(as_json()) == WorldwiseAnswer("A", TOP, "Kin come first.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (as_json(decision="C"), "no decision of the menu"),
        (as_json(decision=None), "no decision of the menu"),
        (as_json(decision={"A": 1}), "no decision of the menu"),
        (as_json(value_1="Peace", value_2="War", value_3=7), "no value of the list"),
        (as_json(explanation=" "), "no explanation"),
        (as_json(explanation=["Kin"]), "no explanation"),
        ('{"decision": "A"}', "no value of the list"),
        ("{}", "no decision of the menu"),
        ("[]", "unparsable answer"),
        ("I cannot answer that.", "unparsable answer"),
        (as_json()[:-1], "unparsable answer"),
        ("[" * 100_000, "unparsable answer"),
        ('{"a":' * 100_000 + "}", "unparsable answer"),
        ('{"a": ' + "9" * 5000 + "}", "unparsable answer"),
        (" \n", "empty answer"),
    ],
)
def test_what_cannot_be_scored_has_a_reason(text: str, reason: str) -> None:
    assert from_json(text) == reason


def test_refusals_and_cut_answers() -> None:
    assert from_json("I'm sorry", "refusal") == "refused"
    assert from_json("", "content_filter") == "refused"
    assert from_json(as_json()[:-5], "length") == "cut off at max_tokens"
    # Whole before it was stopped: spaces without end are what a schema lets small models write.
    assert from_json(as_json() + "\n \n", "length") == WorldwiseAnswer("A", TOP, "Kin come first.")


def test_json_between_fences_and_words() -> None:
    assert from_json(f"Sure!\n```json\n{as_json()}\n```") == WorldwiseAnswer("A", TOP, "Kin come first.")


def test_fewer_than_three_values_are_kept() -> None:
    twice = from_json(as_json(value_2="Family Harmony", value_3="Peace"))
    assert twice == WorldwiseAnswer("A", ("Family Harmony",), "Kin come first.")


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("family harmony", "Family Harmony"),
        ("1. Family-Harmony!", "Family Harmony"),
        ("duty and obligation", "Duty & Obligation"),
        ("Familly Harmony", "Family Harmony"),
        ("work life balance", "Work-Life Balance"),
        ("Harmony", None),
        ("Disloyalty", None),
        ("Family", None),
    ],
)
def test_values_are_matched_closely(named: str, meant: str | None) -> None:
    reading = from_json(as_json(value_1=named, value_2="", value_3=""))
    assert reading == (WorldwiseAnswer("A", (meant,), "Kin come first.") if meant else "no value of the list")


def test_half_a_surrogate_pair_is_no_text() -> None:
    reading = from_json(as_json(explanation="so \ud83d"))
    assert isinstance(reading, WorldwiseAnswer)
    assert reading.explanation == "so ?"


# --- free text


def test_the_form_by_lines() -> None:
    text = "DECISION: A\nTOP_VALUES: Family Harmony, Loyalty, Future Planning\nEXPLANATION: Kin\ncome first."
    assert from_text(text) == WorldwiseAnswer("A", TOP, "Kin come first.")


@pytest.mark.parametrize(
    "text",
    [
        "**DECISION:** Option A\n**TOP_VALUES:** Family Harmony; Loyalty; Future Planning\n"
        "**EXPLANATION:** Kin.",
        "Decision: (A) tell them\nTop values:\n1. Family Harmony\n2. Loyalty\n3) Future Planning\n"
        "Explanation: Kin.",
        "1. DECISION: a\n2. TOP VALUES: family harmony, LOYALTY, future planning.\n3. EXPLANATION: Kin.",
        "EXPLANATION: Kin.\nTOP_VALUES: [Family Harmony, Loyalty, Future Planning]\nDECISION: A.",
        "DECISION: A, B or Decline\nTOP_VALUES: first, second, third\nEXPLANATION: …\n\n"
        "DECISION: A\nTOP_VALUES: Family Harmony, Loyalty, Future Planning\nEXPLANATION: Kin.",
    ],
)
def test_forms_that_models_write(text: str) -> None:
    assert from_text(text) == WorldwiseAnswer("A", TOP, "Kin.")


@pytest.mark.parametrize(
    ("decision", "meant"),
    [
        ("B", "B"), ("option b", "B"), ("Option B: wait", "B"), ("I decline to choose", "Decline"),
        ("DECLINE", "Decline"), ("Both", None), ("Apples", None), ("", None), ("maybe A", None),
    ],
)  # fmt: skip
def test_decisions(decision: str, meant: str | None) -> None:
    reading = from_text(f"DECISION: {decision}\nTOP_VALUES: Loyalty\nEXPLANATION: Kin.")
    assert reading == (WorldwiseAnswer(meant, ("Loyalty",), "Kin.") if meant else "no decision of the menu")


def test_free_text_that_was_stopped_is_cut_off() -> None:
    text = "DECISION: A\nTOP_VALUES: Loyalty\nEXPLANATION: Kin"
    assert from_text(text, "length") == "cut off at max_tokens"
    assert from_text("I would tell them.") == "unparsable answer"
    assert from_text("DECISION: A") == "no value of the list"


# --- anything


PIECES = st.sampled_from(
    ["DECISION:", "TOP_VALUES:", "EXPLANATION:", "\n", "A", "Loyalty", ",", "**", "{", "}", '"', as_json()]
)


@given(
    st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join),
    st.sampled_from(["stop", "length", "refusal", ""]),
    st.booleans(),
)
def test_reading_never_raises(text: str, finish_reason: str, is_json: bool) -> None:
    check_reading(read_answer(Completion(text, finish_reason, 1, 1), LABELS, is_json))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from([*LABELS, *DECISIONS]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["decision", "value_1", "value_2", "explanation"]), JSON_VALUES))
def test_reading_any_json_never_raises(fields: dict[str, Any]) -> None:
    check_reading(from_json(as_json(**fields)))


def check_reading(reading: WorldwiseAnswer | str) -> None:
    """An answer within the menu, the list and Unicode, or a reason."""
    if isinstance(reading, str):
        assert reading
        return
    assert reading.decision in DECISIONS
    assert 1 <= len(reading.values) <= 3
    assert len(set(reading.values)) == len(reading.values)
    assert set(reading.values) <= set(LABELS)
    assert reading.explanation == " ".join(reading.explanation.split()) != ""
    assert pl.Series([reading.explanation]).to_list() == [reading.explanation]


# --- what is embedded


SCENARIO = Scenario("s", "hofstede", "individualism", "family", "What now?", "Stay on.", "Go home.")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, "Loyalty, Future Planning. Kin first. Go home."),
        ({"decision": "letter"}, "Loyalty, Future Planning. Kin first. Decision: B."),
        ({"values_weight": 2}, "Loyalty, Future Planning. Loyalty, Future Planning. Kin first. Go home."),
        ({"values_weight": 0}, "Kin first. Go home."),
        ({"order": "explanation-values-decision"}, "Kin first. Loyalty, Future Planning. Go home."),
    ],
)
def test_composition(params: dict[str, Any], expected: str) -> None:
    answer = WorldwiseAnswer("B", ("Loyalty", "Future Planning"), "Kin first.")
    assert composed(answer, SCENARIO, WorldwiseParams(models=["m"], **params)) == expected


def test_a_declined_choice_names_neither_option() -> None:
    answer = WorldwiseAnswer("Decline", ("Loyalty",), "Kin first.")
    assert composed(answer, SCENARIO, WorldwiseParams(models=["m"])) == "Loyalty. Kin first. Neither."
