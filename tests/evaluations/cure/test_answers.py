"""Labels and explanations, read independently of each other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.cure import read as answers
from tasks.evaluations.cure.evaluation import SCHEMA, answer_frame, verdict_frames
from tasks.evaluations.cure.read import (
    NO_EXPLANATION,
    OFF_MENU,
    CureAnswer,
    judge_calls,
    read_answer,
    read_answers,
    score_model,
)
from tasks.loop import replies
from tasks.loop.prompts import Completion
from tests.evaluations.cure.conftest import (
    MakeStudy,
    completion,
    judged_by,
    opinions_of,
    real_only,
    right_answers,
)
from warehouse import KINDS

THIN, THICK = ("normad", "thin"), ("normad", "thick")


@pytest.mark.parametrize(
    ("text", "finish", "label", "reason"),
    [
        ('{"label": "neutral"}', "stop", "neutral", None),
        ('{"label": " Yes "}', "stop", "yes", None),
        ('```json\n{"label": "no"}\n```', "stop", "no", None),
        ('{"label": "yes", "label": "no"}', "stop", "no", None),
        ('{"label": "maybe"}', "stop", None, answers.OFF_MENU),
        ('{"label": 1}', "stop", None, answers.OFF_MENU),
        ('{"answer": "yes"}', "stop", None, answers.OFF_MENU),
        ("Maybe.", "stop", None, replies.UNPARSABLE),
        ('["yes"]', "stop", None, replies.UNPARSABLE),
        ('{"label": ', "length", None, replies.CUT_OFF),
        ("  ", "stop", None, replies.EMPTY),
        ('{"label": "yes"}', "content_filter", None, replies.REFUSED),
    ],
)
def test_label_is_read_or_has_a_reason(text: str, finish: str, label: str | None, reason: str | None) -> None:
    assert read_answer(*THIN, Completion(text, finish, 1, 1)) == CureAnswer(label, reason)


def test_option_probabilities_override_the_written_label() -> None:
    likely = {"yes": -2.0, "no": -0.5, "neutral": -3.0}
    assert read_answer(*THIN, completion("yes", option_logprobs=likely)).label == "no"
    # A tie goes to the first option; an unknown option does not count.
    tied = {"neutral": -1.0, "yes": -1.0, "x": 0.0}
    assert read_answer(*THIN, completion("no", option_logprobs=tied)).label == "yes"
    assert read_answer(*THIN, completion("no", option_logprobs={})).label == "no"


def test_explanation_is_read_or_missing_with_a_reason() -> None:
    assert read_answer(*THICK, completion("no", "One\n waits. ")) == CureAnswer("no", None, "One waits.")
    assert read_answer(*THICK, completion("no", " ")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read_answer(*THICK, completion("no")) == CureAnswer("no", None, None, answers.NO_EXPLANATION)
    assert read_answer(*THICK, completion("?", "One waits.")) == CureAnswer(
        None, answers.OFF_MENU, "One waits."
    )
    assert read_answer(*THICK, None) == CureAnswer(None, replies.NO_ANSWER, None, replies.NO_ANSWER)
    surrogate = Completion('{"label": "no", "explanation": "a \\ud83d b"}', "stop", 1, 1)
    assert read_answer(*THICK, surrogate).explanation == "a ? b"


def test_cut_off_explanation_keeps_its_label() -> None:
    cut = Completion('{"label": "no", "explanation": "In Japan one', "length", 1, 1)
    assert read_answer(*THICK, cut) == CureAnswer("no", None, None, replies.CUT_OFF)
    assert read_answer(*THICK, Completion('{"label": "n', "length", 1, 1)).label_reason == replies.CUT_OFF


@settings(max_examples=40)
@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: json.dumps({"label": value, "explanation": value})
    ),
    st.sampled_from(["stop", "length"]),
)
def test_any_text_is_read_or_has_a_reason(text: str, finish: str) -> None:
    answer = read_answer(*THICK, Completion(text, finish, 1, 1))
    assert (answer.label is None) == (answer.label_reason is not None)
    assert (answer.explanation is None) == (answer.explanation_reason is not None)


def test_answer_rows_have_labels_scores_and_reasons(make_study: MakeStudy) -> None:
    study = make_study()
    completions = right_answers(study)
    completions["normad", "thick", "normad-f0-in"] = completion("no")
    completions["normad", "thick", "normad-f1-jp"] = completion("?", "One waits.")
    readings = read_answers(study, completions)
    frame = answer_frame(study, readings, score_model(study, readings, judged_by(study, readings, real_only)))
    assert frame.schema == SCHEMA
    assert set(SCHEMA) == set(KINDS["cure_answer"].columns) - {"part", "request_hash", "run_id", "model"}
    assert len(frame) == 2 * 19
    assert frame.select("benchmark", "mode", "item").is_unique().all()
    assert frame["config_hash"].unique().to_list() == [study.config_hash()]
    by_key = {(r["benchmark"], r["mode"], r["item"]): r for r in frame.to_dicts()}
    thin = by_key["normad", "thin", "normad-f0-in"]
    assert (thin["label"], thin["gold_label"], thin["correct"]) == ("yes", "yes", True)
    assert [thin[name] for name in ("explanation", "score", "verdict", "unscored_reason")] == [None] * 4
    wrong = by_key["normad", "thick", "normad-f0-in"]
    assert (wrong["correct"], wrong["score"], wrong["unscored_reason"]) == (False, 0.0, NO_EXPLANATION)
    odd = by_key["normad", "thick", "normad-f1-jp"]
    assert (odd["label"], odd["correct"], odd["unscored_reason"]) == (None, False, OFF_MENU)
    assert (odd["explanation"], odd["verdict"]) == ("One waits.", "YES")
    assert odd["score"] == pytest.approx(0.9)
    subtle = by_key["specnorm", "thick", "specnorm-in-1"]
    assert (subtle["country"], subtle["disagreement"]) == ("IN", pytest.approx(0.0))


def test_verdict_rows_have_judge_rubric_and_judged_text(make_study: MakeStudy) -> None:
    study = make_study()
    readings = read_answers(study, right_answers(study))
    calls = judge_calls(study, readings)
    frames = verdict_frames(study, calls, opinions_of(study, calls, lambda _, call: real_only(call)))
    assert list(frames) == [("j", benchmark) for benchmark in study.benchmarks]
    frame = frames["j", "specnorm"]
    # Three items, four sources, three samples.
    assert len(frame) == 36
    assert frame.select("item", "judged").is_unique().all()
    assert frame["rubric"].unique().to_list() == [study.rubric_id("specnorm")]
    assert study.rubric_id("specnorm").startswith("specificity ")
    first = frame.to_dicts()[0]
    assert (first["judge"], first["judge_hash"], first["judged"]) == ("j", "hash of j", "real:0")
    assert first["group_name"] == "IN"
    assert first["item_text"].splitlines() == [
        "Country: India",
        "Person: Someone of group IN",
        "Question: What happens in specnorm-in-1. Is it right in specnorm-in-1?",
        "Subgroup: ethnicity: group IN, age: old",
        "Norm, to be taken as right: The norm of specnorm-in-1.",
    ]
    texts = {row["judged"]: row["judged_text"] for row in frame.to_dicts() if row["item"] == first["item"]}
    assert texts["real:0"] == texts["real:2"] == "Because of specnorm-in-1."
    assert texts["shuffled:0"] != texts["real:0"]
    assert texts["empty:0"] == ""
    assert (first["verdict"], first["value"], first["graded"]) == ("YES", 1.0, pytest.approx(0.9))
    unread = verdict_frames(study, calls, opinions_of(study, calls, lambda *_: "?"))["j", "normad"]
    assert unread["unscored_reason"].null_count() == 0
    assert unread["verdict"].null_count() == len(unread) == 24
