"""Answers read from JSON and free text, and the text that is embedded."""

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
    "Family Harmony", "Future Planning", "Achievement & Success", "Work-Life Balance", "Loyalty",
    "Duty & Obligation",
]  # fmt: skip
TOP = ("Family Harmony", "Loyalty", "Future Planning")


def as_json(**fields: Any) -> str:
    """Return a whole answer, with the fields given in their place."""
    values = {f"value_{i + 1}": value for i, value in enumerate(TOP)}
    return json.dumps({"decision": "A", **values, "explanation": "Kin come first."} | fields)


def read(text: str, finish_reason: str = "stop", is_json: bool = True) -> WorldwiseAnswer | str:
    return read_answer(Completion(text, finish_reason, 1, 1), LABELS, is_json)


# --- JSON


WHOLE = WorldwiseAnswer("A", TOP, "Kin come first.")


@pytest.mark.parametrize(
    ("text", "finish_reason", "answer"),
    [
        (as_json(), "stop", WHOLE),
        (f"Sure!\n```json\n{as_json()}\n```", "stop", WHOLE),
        (as_json() + "\n \n", "length", WHOLE),  # small models fill up with spaces
        (as_json(value_2="Family Harmony", value_3="Peace"), "stop",
         WorldwiseAnswer("A", ("Family Harmony",), "Kin come first.")),
        (as_json(explanation="so \ud83d"), "stop", WorldwiseAnswer("A", TOP, "so ?")),
        ("I'm sorry", "refusal", "refused"),
        ("", "content_filter", "refused"),
        (as_json()[:-5], "length", "cut off at max_tokens"),
    ],
)  # fmt: skip
def test_json_is_read_or_has_a_reason(text: str, finish_reason: str, answer: WorldwiseAnswer | str) -> None:
    assert read(text, finish_reason) == answer


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
        (as_json()[:-1], "no value of the list"),  # its last field may have gone on
        ("[" * 100_000, "unparsable answer"),
        ('{"a":' * 100_000 + "}", "unparsable answer"),
        ('{"a": ' + "9" * 5000 + "}", "unparsable answer"),
        (" \n", "empty answer"),
    ],
)
def test_unusable_json_has_a_reason(text: str, reason: str) -> None:
    assert read(text) == reason


@pytest.mark.parametrize(
    ("named", "expected"),
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
def test_values_are_matched_by_close_spelling(named: str, expected: str | None) -> None:
    reading = read(as_json(value_1=named, value_2="", value_3=""))
    assert reading == (
        WorldwiseAnswer("A", (expected,), "Kin come first.") if expected else "no value of the list"
    )


# --- free text


@pytest.mark.parametrize(
    "text",
    [
        "**DECISION:** Option A\n**TOP_VALUES:** Family Harmony; Loyalty; Future Planning\n"
        "**EXPLANATION:** Kin.",
        "Decision: (A) tell them\nTop values:\n1. Family Harmony\n2. Loyalty\n3) Future Planning\n"
        "Explanation: Kin.",
        "1. DECISION: a\n2. TOP VALUES: family harmony, LOYALTY, future planning.\n3. EXPLANATION: Kin.",
        "EXPLANATION: Kin.\nTOP_VALUES: [Family Harmony, Loyalty, Future Planning]\nDECISION: A.",
        "DECISION: A\nTOP_VALUES: Family Harmony, Loyalty, Future Planning\nEXPLANATION:\nKin.",
        "DECISION: A, B or Decline\nTOP_VALUES: first, second, third\nEXPLANATION: …\n\n"
        "DECISION: A\nTOP_VALUES: Family Harmony, Loyalty, Future Planning\nEXPLANATION: Kin.",
    ],
)
def test_answer_in_lines_is_read_in_the_forms_that_models_write(text: str) -> None:
    assert read(text, is_json=False) == WorldwiseAnswer("A", TOP, "Kin.")


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ("B", "B"), ("option b", "B"), ("Option B: wait", "B"), ("I decline to choose", "Decline"),
        ("DECLINE", "Decline"), ("Both", None), ("Apples", None), ("", None), ("maybe A", None),
    ],
)  # fmt: skip
def test_decision_is_read_from_free_text(decision: str, expected: str | None) -> None:
    reading = read(f"DECISION: {decision}\nTOP_VALUES: Loyalty\nEXPLANATION: Kin.", is_json=False)
    assert reading == (
        WorldwiseAnswer(expected, ("Loyalty",), "Kin.") if expected else "no decision of the menu"
    )


def test_incomplete_free_text_has_a_reason() -> None:
    text = "DECISION: A\nTOP_VALUES: Loyalty\nEXPLANATION: Kin"
    assert read(text, "length", is_json=False) == "cut off at max_tokens"
    assert read("I would tell them.", is_json=False) == "unparsable answer"
    assert read("DECISION: A", is_json=False) == "no value of the list"


# --- anything


PIECES = st.sampled_from(
    ["DECISION:", "TOP_VALUES:", "EXPLANATION:", "\n", "A", "Loyalty", ",", "**", "{", "}", '"', as_json()]
)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from([*LABELS, *DECISIONS]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["decision", "value_1", "value_2", "explanation"])


@given(
    st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join)
    | st.dictionaries(FIELDS, JSON_VALUES).map(lambda fields: as_json(**fields)),
    st.sampled_from(["stop", "length", "refusal", ""]),
    st.booleans(),
)
def test_any_text_is_read_or_has_a_reason(text: str, finish_reason: str, is_json: bool) -> None:
    reading = read(text, finish_reason, is_json)
    if isinstance(reading, str):
        assert reading
        return
    assert reading.decision in DECISIONS
    assert 1 <= len(reading.values) <= 3
    assert len(set(reading.values)) == len(reading.values)
    assert set(reading.values) <= set(LABELS)
    assert reading.explanation == " ".join(reading.explanation.split()) != ""
    assert pl.Series([reading.explanation]).to_list() == [reading.explanation]


# --- embedded text


SCENARIO = Scenario("s", "hofstede", "individualism", "family", "What now?", "Stay on.", "Go home.")


@pytest.mark.parametrize(
    ("decision", "params", "expected"),
    [
        ("B", {}, "Loyalty, Future Planning. Kin first. Go home."),
        ("B", {"decision": "letter"}, "Loyalty, Future Planning. Kin first. Decision: B."),
        (
            "B",
            {"values_weight": 2},
            "Loyalty, Future Planning. Loyalty, Future Planning. Kin first. Go home.",
        ),
        ("B", {"values_weight": 0}, "Kin first. Go home."),
        ("B", {"order": "explanation-values-decision"}, "Kin first. Loyalty, Future Planning. Go home."),
        ("Decline", {}, "Loyalty, Future Planning. Kin first. Neither."),
    ],
)
def test_embedded_text_of_an_answer(decision: str, params: dict[str, Any], expected: str) -> None:
    answer = WorldwiseAnswer(decision, ("Loyalty", "Future Planning"), "Kin first.")
    assert composed(answer, SCENARIO, WorldwiseParams(models=["m"], **params)) == expected


@pytest.mark.parametrize(
    ("values", "others", "kept"),
    [
        ("Family Harmony, Inner Peace, Loyalty", False, ("Family Harmony", "Loyalty")),
        ("Family Harmony, Inner Peace, Loyalty", True, ("Family Harmony", "Inner Peace", "Loyalty")),
        ("1. [Inner Peace]\n2. **Inner Peace**\n3. Loyalty", True, ("Inner Peace", "Inner Peace", "Loyalty")),
        ("a, b, c, d", True, ("a", "b", "c")),
    ],
)
def test_values_that_are_not_in_the_list_may_count(values: str, others: bool, kept: tuple[str, ...]) -> None:
    text = f"DECISION: A\nTOP_VALUES: {values}\nEXPLANATION: Kin come first."
    answer = read_answer(Completion(text, "stop", 1, 1), LABELS, False, others)
    assert answer == WorldwiseAnswer("A", kept, "Kin come first.")
