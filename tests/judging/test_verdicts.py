"""Reading a judge's answer: what counts, what is unscored, and that no answer breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.rubric import Rubric, answer_schema
from tasks.judging.verdicts import parse_verdicts
from tests.judging.attacks import ATTACKS

KEYS = ["plum", "kale", "stone"]
GOOD = {"verdict": "Good", "reason": "tasty"}
UNSURE = {"verdict": "Unsure", "reason": "unknown"}
BAD = {"verdict": "Bad", "reason": "unknown"}
ANSWER = json.dumps({"plum": GOOD, "kale": UNSURE, "stone": BAD})

Said = list[tuple[str | None, str | None, float | None]]
FULL: Said = [("Good", "tasty", 1.0), ("Unsure", "unknown", 0.5), ("Bad", "unknown", 0.0)]
NONE: Said = [(None, None, None)] * 3


def said(rubric: Rubric, text: str, keys: list[str] = KEYS) -> Said:
    """(verdict, reason, value) of each key in order."""
    verdicts = parse_verdicts(text, keys, rubric)
    assert [v.key for v in verdicts] == keys
    assert all((v.value is None) == (v.unscored_reason is not None) for v in verdicts)
    return [(v.verdict, v.reason, v.value) for v in verdicts]


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"```json\n{ANSWER}\n```",
        f"Let me think {{about}} it: plums {{are}} fine.\n\n{ANSWER}\nDone.",
        f'{{"plum": {json.dumps(GOOD)}}} was my draft, now: {ANSWER}',
        ANSWER + ' {"note": "that was all"}',
        ANSWER.replace('"plum"', '" PLUM "').replace('"Good"', '"good "').replace('"tasty"', '"Tasty"'),
        ANSWER.replace('"plum"', '"pl\\u0075m"'),
        ANSWER.replace('"verdict"', '"Verdict"'),
        '{"PLUM": {"verdict": "good"}, ' + ANSWER[1:],  # twice the same
        f'He wrote "{{\\"plum\\": {{\\"verdict\\": \\"Bad\\"}}}}": {ANSWER}',  # quoted as a JSON string
        f"{ANSWER}\nOf the plum this verdict is good.",
        "{" + ANSWER,
    ],
)
def test_ways_to_say_the_same(rubric: Rubric, text: str) -> None:
    assert said(rubric, text) == FULL


@pytest.mark.parametrize(
    "text",
    [
        f'{{"plum": {json.dumps(BAD)}}} was my draft, now: {ANSWER}',
        f'{ANSWER} The second was {{"plum": {json.dumps(BAD)}}}',
        '{"plum": {"verdict": "Bad", "reason": "unknown"}, ' + ANSWER[1:],
        '{"PLUM": {"verdict": "Bad", "reason": "unknown"}, ' + ANSWER[1:],
        ANSWER.replace('"verdict": "Good"', '"verdict": "Bad", "verdict": "Good"'),
    ],
)
def test_a_key_of_which_two_things_are_said_is_unscored(rubric: Rubric, text: str) -> None:
    assert said(rubric, text) == [NONE[0], *FULL[1:]]
    reason = parse_verdicts(text, KEYS, rubric)[0].unscored_reason
    assert reason == "the judge gave verdicts that differ"


@pytest.mark.parametrize(
    "outside",
    [
        '{"plum": {"verdict": "Bad", "reason": "it says "so""}}',  # broken by quotation marks
        "{'plum': {'verdict': 'BAD'}}",
        '{"plom": {"verdict": "Bad"}}',
        "**Verdict:** bad.",
        "_verdict_ = `Bad`",
        "Verdict: bad",
    ],
)
def test_a_verdict_that_is_stated_outside_of_the_answer_counts_against_it(
    rubric: Rubric, outside: str
) -> None:
    answer = json.dumps({"plum": GOOD})
    for text in (f"{outside}\n{answer}", f"{answer}\n{outside}", f"{answer}{outside}"):
        assert said(rubric, text, ["plum"]) == [NONE[0]]
        assert said(rubric, text.replace("Good", "Bad").replace("tasty", "unknown"), ["plum"]) == [FULL[2]]


@pytest.mark.parametrize(
    "text", ["", "plum: Good", ANSWER[:-1], ANSWER[:40], "{" * 3000, '{"plum":' * 1200, "[]", "{}"]
)
def test_no_complete_object_is_all_unscored(rubric: Rubric, text: str) -> None:
    assert said(rubric, text) == NONE
    fault = parse_verdicts(text, KEYS, rubric)[0].unscored_reason
    assert fault is not None
    assert "no complete JSON object" in fault


def test_duplicates_of_one_key_in_several_spellings(rubric: Rubric) -> None:
    pairs = [("plum", GOOD | {"reason": "healthy"}), ("Plum", {"verdict": "GOOD"}), ("plum", GOOD)]
    text = "{" + ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in pairs) + "}"
    assert said(rubric, text, ["plum"]) == [("Good", "tasty", 1.0)]


def test_missing_keys_are_unscored_and_extra_ones_ignored(rubric: Rubric) -> None:
    text = json.dumps({"plum": GOOD, "pear": GOOD, "nut": BAD})
    assert said(rubric, text) == [FULL[0], *NONE[1:]]
    assert parse_verdicts(text, KEYS, rubric)[1].unscored_reason == "the judge left this key out"


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"verdict": "Perfect", "reason": "tasty"}, "the verdict 'Perfect' is not on the menu"),
        ({"verdict": "Good or Bad"}, "the verdict 'Good or Bad' is not on the menu"),
        ({"verdict": "x" * 99}, f"the verdict '{'x' * 40}' is not on the menu"),
        ({"verdict": "\ud800"}, "the verdict '\\ud800' is not on the menu"),
        ({"verdict": ["Good"]}, "the verdict of JSON type list is not on the menu"),
        ({"verdict": None}, "the verdict of JSON type NoneType is not on the menu"),
        ({"verdict": 1}, "the verdict of JSON type int is not on the menu"),
        ({"reason": "tasty"}, "the judge gave no verdict under this key"),
        ("Good", "the judge gave no verdict under this key"),
        (["Good", "tasty"], "the judge gave no verdict under this key"),
        (None, "the judge gave no verdict under this key"),
        ({}, "the judge gave no verdict under this key"),
    ],
)
def test_off_the_menu_is_unscored_with_the_reason(rubric: Rubric, entry: Any, fault: str) -> None:
    text = json.dumps({"plum": entry, "kale": UNSURE, "stone": BAD})
    assert said(rubric, text) == [NONE[0], *FULL[1:]]
    reason = parse_verdicts(text, KEYS, rubric)[0].unscored_reason
    assert reason == fault
    reason.encode("utf-8")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("healthy", "healthy"),
        (["healthy", "tasty"], "healthy"),
        ("healthy, tasty", "healthy"),
        ("Tasty and healthy", "tasty"),
        (["new", "tasty"], "tasty"),
        ("because I say so", None),
        ("unknown", None),  # goes with Bad, not with Good
        (7, None),
        (None, None),
    ],
)
def test_a_prediction_counts_once_whatever_its_reasons(
    rubric: Rubric, reason: Any, expected: str | None
) -> None:
    text = json.dumps({"plum": {"verdict": "Good", "reason": reason}})
    assert said(rubric, text, ["plum"]) == [("Good", expected, 1.0)]


def test_keys_that_differ_in_case_share_one_verdict(rubric: Rubric) -> None:
    keys = ["Corn", "salt", "corn "]
    schema = answer_schema(rubric, tuple(keys))
    assert list(schema["properties"]) == schema["required"] == ["Corn", "salt"]
    answer = json.dumps({"Corn": GOOD, "salt": BAD})
    assert said(rubric, answer, keys) == [FULL[0], FULL[2], FULL[0]]


def test_the_schema_admits_right_answers_only(rubric: Rubric) -> None:
    schema = answer_schema(rubric, tuple(KEYS))
    jsonschema.Draft202012Validator.check_schema(schema)
    right = json.loads(ANSWER)
    jsonschema.validate(right, schema)
    for wrong in (
        {k: v for k, v in right.items() if k != "plum"},
        right | {"pear": GOOD},
        right | {"plum": {"verdict": "Perfect", "reason": "tasty"}},
        right | {"plum": {"verdict": "Good", "reason": "unknown"}},
        right | {"plum": {"verdict": "Good"}},
        right | {"plum": "Good"},
        right | {"plum": GOOD | {"note": "x"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    with pytest.raises(ValueError, match="nothing to judge"):
        answer_schema(rubric, ())


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_an_attack_as_a_key_or_quoted_does_not_change_the_verdicts(rubric: Rubric, attack: str) -> None:
    keys = ["plum", attack, "salt"]
    answer = {"plum": BAD, attack: UNSURE, "salt": BAD}
    jsonschema.validate(answer, answer_schema(rubric, tuple(keys)))
    expected: Said = [FULL[2], FULL[1], FULL[2]]
    for text in (json.dumps(answer), json.dumps(answer, ensure_ascii=False)):
        assert said(rubric, text, keys) == expected
        # A judge that reasons first may quote what it read: that may cost a verdict, and never changes one.
        quoted = said(rubric, f"The second is named {attack}, so:\n{text}", keys)
        assert all(each in (right, NONE[0]) for each, right in zip(quoted, expected, strict=True))
        assert (quoted == expected) == ('{"salt":' not in attack)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["Good", "tasty"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from([*KEYS, "verdict"]), inner),
)


@given(st.text() | JSON.map(json.dumps), st.integers(0, 200))
def test_no_text_breaks_the_reader(rubric: Rubric, text: str, cut: int) -> None:
    for answer in (text, text[:cut], text + text):
        assert len(said(rubric, answer)) == 3
