"""Single answers and verdicts as rows of their part kinds."""

from __future__ import annotations

import pytest

from tasks.evaluations.cure.details import SCHEMA, answer_frame, verdict_frames
from tasks.evaluations.cure.read import NO_EXPLANATION, OFF_MENU, judge_calls, read_answers
from tasks.evaluations.cure.scores import score_model
from tests.evaluations.cure.conftest import (
    MakeStudy,
    completion,
    judged_by,
    opinions_of,
    real_only,
    right_answers,
)
from warehouse import KINDS


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
