"""Verdicts read from a judge's completion, graded scores, several votes as one, and rows."""

from __future__ import annotations

import json
import math
import random
from statistics import stdev
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.rubric import Rubric, answer_schema
from tasks.judging.verdicts import (
    SCHEMA,
    VerdictRow,
    graded,
    parse_verdicts,
    verdict_frame,
)
from tasks.judging.votes import Ensemble, Vote, combine
from tests.judging.attacks import ATTACKS
from warehouse import KINDS

KEYS = ["plum", "kale", "stone"]
GOOD = {"verdict": "Good", "reason": "tasty"}
UNSURE = {"verdict": "Unsure", "reason": "unknown"}
BAD = {"verdict": "Bad", "reason": "unknown"}
ANSWER = json.dumps({"plum": GOOD, "kale": UNSURE, "stone": BAD})

Verdicts = list[tuple[str | None, str | None, float | None]]
FULL: Verdicts = [("Good", "tasty", 1.0), ("Unsure", "unknown", 0.5), ("Bad", "unknown", 0.0)]
NONE: Verdicts = [(None, None, None)] * 3


def read(rubric: Rubric, text: str, keys: list[str] = KEYS) -> Verdicts:
    """Return (verdict, reason, value) of each key in order."""
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
def test_spellings_of_one_verdict_are_pooled(rubric: Rubric, text: str) -> None:
    assert read(rubric, text) == FULL


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
def test_a_key_with_two_different_verdicts_is_unscored(rubric: Rubric, text: str) -> None:
    assert read(rubric, text) == [NONE[0], *FULL[1:]]
    reason = parse_verdicts(text, KEYS, rubric)[0].unscored_reason
    assert reason == "the judge gave verdicts that differ"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{{"plum": {json.dumps(BAD)}}} was my draft, now: {ANSWER}', FULL),
        (f'{ANSWER} The second was {{"plum": {json.dumps(BAD)}}}', [FULL[2], *FULL[1:]]),
        (f"{{'plum': {GOOD}}} No: {{'plum': {BAD}}} On reflection: {ANSWER}", FULL),
        (f"**Verdict:** bad\n\nThen again, no.\n{ANSWER}", FULL),
        (f'{ANSWER} Or: {{"plum": {{"verdict": "Bad", "rea', [*NONE[:2], FULL[2]]),  # withdrawn, not replaced
        (f"{ANSWER}\nVerdict: bad", [*NONE[:2], FULL[2]]),
        ('{"plum": {"verdict": "Bad", "reason": "unknown"}, ' + ANSWER[1:], [NONE[0], *FULL[1:]]),  # in one
        (ANSWER.replace('"verdict": "Good"', '"verdict": "Bad", "verdict": "Good"'), [NONE[0], *FULL[1:]]),
    ],
)
def test_the_last_complete_object_counts_where_nothing_can_be_quoted(
    rubric: Rubric, text: str, expected: Verdicts
) -> None:
    found = parse_verdicts(text, KEYS, rubric, revised=True)
    assert [(v.verdict, v.reason, v.value) for v in found] == expected


def test_the_last_line_counts_where_nothing_can_be_quoted(rubric: Rubric) -> None:
    text = "Verdict: good\nWait, it is a stone.\n**Verdict:** bad"
    assert parse_verdicts(text, ["plum"], rubric, revised=True)[0].verdict == "Bad"
    assert read(rubric, text, ["plum"]) == [NONE[0]]


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
def test_another_verdict_outside_the_json_object_makes_it_unscored(rubric: Rubric, outside: str) -> None:
    answer = json.dumps({"plum": GOOD})
    for text in (f"{outside}\n{answer}", f"{answer}\n{outside}", f"{answer}{outside}"):
        assert read(rubric, text, ["plum"]) == [NONE[0]]
        assert read(rubric, text.replace("Good", "Bad").replace("tasty", "unknown"), ["plum"]) == [FULL[2]]


@pytest.mark.parametrize(
    "text", ["", "plum: Good", ANSWER[:-1], ANSWER[:40], "{" * 3000, '{"plum":' * 1200, "[]", "{}"]
)
def test_without_a_complete_json_object_all_keys_are_unscored(rubric: Rubric, text: str) -> None:
    assert read(rubric, text) == NONE
    fault = parse_verdicts(text, KEYS, rubric)[0].unscored_reason
    assert fault is not None
    assert "no complete JSON object" in fault


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"verdict": "Perfect", "reason": "tasty"}, "the verdict 'Perfect' is not on the menu"),
        ({"verdict": "Good or Bad"}, "the verdict 'Good or Bad' is not on the menu"),
        ({"verdict": "x" * 99}, f"the verdict '{'x' * 40}' is not on the menu"),
        ({"verdict": "\ud800"}, "the verdict '\\ud800' is not on the menu"),
        ({"verdict": ["Good", "Bad"]}, "the verdict of JSON type list is not on the menu"),
        ({"verdict": None}, "the verdict of JSON type NoneType is not on the menu"),
        ({"verdict": 1}, "the verdict of JSON type int is not on the menu"),
        ({"reason": "tasty"}, "the judge gave no verdict under this key"),
        ("Perfect", "the verdict 'Perfect' is not on the menu"),
        (["Perfect", "tasty"], "the verdict 'Perfect' is not on the menu"),
        ([], "the judge gave no verdict under this key"),
        (None, "the judge gave no verdict under this key"),
        ({}, "the judge gave no verdict under this key"),
    ],
)
def test_a_verdict_off_the_menu_is_unscored_with_a_reason(rubric: Rubric, entry: Any, fault: str) -> None:
    text = json.dumps({"plum": entry, "kale": UNSURE, "stone": BAD})
    assert read(rubric, text) == [NONE[0], *FULL[1:]]
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
        ("unknown", None),  # this reason is allowed with Bad, not with Good
        (7, None),
        (None, None),
    ],
)
def test_the_first_reason_on_the_menu_is_taken(rubric: Rubric, reason: Any, expected: str | None) -> None:
    text = json.dumps({"plum": {"verdict": "Good", "reason": reason}})
    assert read(rubric, text, ["plum"]) == [("Good", expected, 1.0)]


def test_keys_that_differ_in_case_share_one_verdict(rubric: Rubric) -> None:
    keys = ["Corn", "salt", "corn "]
    schema = answer_schema(rubric, tuple(keys))
    assert list(schema["properties"]) == schema["required"] == ["Corn", "salt"]
    answer = json.dumps({"Corn": GOOD, "salt": BAD})
    assert read(rubric, answer, keys) == [FULL[0], FULL[2], FULL[0]]


def test_the_schema_admits_complete_answers_on_the_menu_only(rubric: Rubric) -> None:
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
    expected: Verdicts = [FULL[2], FULL[1], FULL[2]]
    for text in (json.dumps(answer), json.dumps(answer, ensure_ascii=False)):
        assert read(rubric, text, keys) == expected
        # A judge that reasons first may quote what it read: that may cost a verdict, and never changes one.
        quoted = read(rubric, f"The second is named {attack}, so:\n{text}", keys)
        assert all(each in (right, NONE[0]) for each, right in zip(quoted, expected, strict=True))
        assert (quoted == expected) == ('{"salt":' not in attack)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["Good", "tasty"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from([*KEYS, "verdict"]), inner),
)


@given(st.text() | JSON.map(json.dumps), st.integers(0, 200))
def test_any_text_is_read_without_an_error(rubric: Rubric, text: str, cut: int) -> None:
    for answer in (text, text[:cut], text + text):
        assert len(read(rubric, answer)) == 3


YES_NO = {"Yes": 1.0, "No": 0.0}

logprobs = st.dictionaries(
    st.sampled_from(["Yes", " yes", "YES", "No", "no ", "Maybe", "The", ""]),
    st.floats(-2000, 0) | st.just(-math.inf),
)


@pytest.mark.parametrize(
    ("shares", "values", "score"),
    [
        # 0.6 / (0.6 + 0.2); the rest of the probability goes to other words.
        ({"Yes": 0.6, "No": 0.2, "Well": 0.15}, YES_NO, 0.75),
        # Spellings are pooled: Yes 0.3 + 0.2 + 0.1, No 0.1 + 0.1: 0.6 / 0.8.
        ({"Yes": 0.3, " yes": 0.2, "YES\n": 0.1, "No": 0.1, "no": 0.1, "None": 0.1, "Ye": 0.1}, YES_NO, 0.75),
        # 0.5 * 1 + 0.3 * 0.5.
        ({"good": 0.5, "unsure": 0.3, "bad": 0.2}, {"Good": 1.0, "Unsure": 0.5, "Bad": 0.0}, 0.65),
        ({"No": 0.4}, YES_NO, 0.0),  # a verdict that is not listed has no probability
    ],
)
def test_hand_calculation_gives_the_graded_score(
    shares: dict[str, float], values: dict[str, float], score: float
) -> None:
    assert graded({text: math.log(p) for text, p in shares.items()}, values) == pytest.approx(score)


def test_the_graded_score_of_tiny_probabilities_does_not_underflow() -> None:
    # exp(-2000) is 0 in floating point; their ratio is e.
    assert graded({"Yes": -2000.0, "No": -2001.0}, YES_NO) == pytest.approx(math.e / (math.e + 1))


@pytest.mark.parametrize(
    "log_probabilities", [None, {}, {"Perhaps": -0.1}, {"Yes": -math.inf, "No": -math.inf}]
)
def test_without_a_probability_of_a_verdict_there_is_no_graded_score(
    log_probabilities: dict[str, float] | None,
) -> None:
    assert graded(log_probabilities, YES_NO) is None


@given(logprobs, st.randoms(use_true_random=False))
def test_the_graded_score_is_in_range_and_ignores_order(
    logprobs: dict[str, float], order: random.Random
) -> None:
    score, mixed = graded(logprobs, YES_NO), list(logprobs.items())
    order.shuffle(mixed)
    assert graded(dict(mixed), YES_NO) == score
    if score is not None:
        assert 0 <= score <= 1
        assert graded(logprobs, {"Yes": 0.0, "No": 1.0}) == pytest.approx(1 - score)


@pytest.mark.parametrize("logprob", [0.5, math.nan, math.inf])
def test_a_wrong_log_probability_is_refused(logprob: float) -> None:
    with pytest.raises(ValueError, match="'Yes' has the log-probability"):
        graded({"Yes": logprob}, YES_NO)
    assert graded({"Yes": 1e-6}, YES_NO) == 1.0  # rounding


SCORES = {"Yes": 1.0, "Maybe": 0.5, "No": 0.0, None: None}
votes = st.lists(
    st.builds(
        lambda judge, phrasing, verdict: Vote(judge, phrasing, verdict, SCORES[verdict]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(list(SCORES)),
    ),
    min_size=1,
    max_size=12,
)


def samples(*scores: float | None, judge: str = "a", phrasing: str = "1") -> list[Vote]:
    """Return votes of one judge; a score of 0.5 or more is Yes."""
    return [Vote(judge, phrasing, None if s is None else "Yes" if s >= 0.5 else "No", s) for s in scores]


def test_unscored_votes_do_not_change_the_weight_of_a_judge() -> None:
    # Judge a: phrasing 1 has mean 0.5, phrasing 2 mean 1: 0.75. Judge b: 0. Mean of judges 0.375.
    votes = samples(1.0, 0.0) + samples(1.0, None, phrasing="2") + samples(0.0, None, None, judge="b")
    result = combine(votes)
    assert result.mean == pytest.approx(0.375)
    assert result.verdict is None  # two Yes, two No


def test_one_vote_has_no_disagreement_and_no_vote_no_score() -> None:
    assert combine(samples(0.3)) == Ensemble(0.3, None, "No")
    assert combine(samples(None, None)) == combine([]) == Ensemble(None, None, None)
    assert combine(samples(1.0, 1.0)).sd == 0


@given(votes, st.randoms(use_true_random=False))
def test_combined_votes_are_in_range_and_ignore_order(votes: list[Vote], order: random.Random) -> None:
    result, mixed = combine(votes), list(votes)
    order.shuffle(mixed)
    assert combine(mixed) == result
    scores = [vote.score for vote in votes if vote.score is not None]
    if scores:
        assert result.mean is not None
        assert min(scores) <= result.mean <= max(scores)
        counts = [sum(v.verdict == name for v in votes) for name in ("Yes", "Maybe", "No")]
        assert (result.verdict is None) == (counts.count(max(counts)) > 1)
    if len(scores) > 1:
        assert result.sd == pytest.approx(stdev(scores))


ROW = VerdictRow("judge-a", "0a1b", "coverage 0123", "dish-1", "a text", "IN", "real:0")


def test_unknown_values_are_null_and_keep_their_type() -> None:
    """The first known number comes after many rows, so types are not inferred from the first rows."""
    rows = [ROW._replace(item=str(n)) for n in range(200)] + [ROW._replace(value=0.5)]
    frame = verdict_frame(rows)
    assert frame.schema == verdict_frame([]).schema == SCHEMA
    assert frame["value"].null_count() == 200
    assert frame["value"][-1] == 0.5


def test_columns_of_verdicts_are_those_of_the_part_kind() -> None:
    provenance = {"part", "request_hash", "run_id", "model"}
    assert set(SCHEMA) == set(KINDS["verdict"].columns) - provenance
    assert all(isinstance(KINDS["verdict"].columns[name], type(kind)) for name, kind in SCHEMA.items())
    assert isinstance(SCHEMA["value"], pl.Float64)
