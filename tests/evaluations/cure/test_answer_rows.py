"""Single answers and verdicts as rows of their part kinds."""

from __future__ import annotations

import pytest

from tasks.evaluations.cure.answer_rows import SCHEMA, answer_frame
from tasks.evaluations.cure.answers import NO_EXPLANATION, OFF_MENU, read_responses
from tasks.evaluations.cure.scores import score_model
from tasks.evaluations.cure.verdict_rows import verdict_frame
from tests.evaluations.cure.conftest import MakeStudy, judged_by, real_only, response, right_answers


def test_answers(make_study: MakeStudy) -> None:
    study = make_study()
    responses = right_answers(study)
    responses["normad", "thick", "normad-f0-in"] = response("no")
    responses["normad", "thick", "normad-f1-jp"] = response("?", "One waits.")
    readings = read_responses(study, responses)
    frame = answer_frame(study, readings, score_model(study, readings, judged_by(study, readings, real_only)))
    assert frame.schema == SCHEMA
    assert len(frame) == 2 * 19
    assert frame.select("benchmark", "mode", "item").is_unique().all()
    assert frame["condition"].unique().to_list() == [study.config_hash()]
    by_key = {(r["benchmark"], r["mode"], r["item"]): r for r in frame.to_dicts()}
    thin = by_key["normad", "thin", "normad-f0-in"]
    assert (thin["label"], thin["gold_label"], thin["correct"]) == ("yes", "yes", True)
    assert [thin[name] for name in ("explanation", "score", "verdict", "unscored_reason")] == [None] * 4
    wrong = by_key["normad", "thick", "normad-f0-in"]
    assert (wrong["correct"], wrong["score"], wrong["unscored_reason"]) == (False, None, NO_EXPLANATION)
    odd = by_key["normad", "thick", "normad-f1-jp"]
    assert (odd["label"], odd["correct"], odd["unscored_reason"]) == (None, None, OFF_MENU)
    assert (odd["explanation"], odd["verdict"]) == ("One waits.", "YES")
    assert odd["score"] == pytest.approx(0.9)
    subtle = by_key["specnorm", "thick", "specnorm-in-1"]
    assert (subtle["country"], subtle["disagreement"]) == ("IN", pytest.approx(0.0))


def test_verdicts(make_study: MakeStudy) -> None:
    study = make_study()
    readings = read_responses(study, right_answers(study))
    opinions = judged_by(study, readings, real_only)
    frame = verdict_frame(study, "specnorm", opinions)
    # Three items, four sources, three samples.
    assert len(frame) == 36
    assert frame.select("item", "judged").is_unique().all()
    assert frame["rubric"].unique().to_list() == [study.rubric_id("specnorm")]
    assert study.rubric_id("specnorm").startswith("specificity ")
    first = frame.to_dicts()[0]
    assert (first["judge"], first["judged"], first["origin"]) == ("j", "real:0", "IN")
    assert (first["verdict"], first["value"], first["graded"]) == ("YES", 1.0, pytest.approx(0.9))
    unread = verdict_frame(study, "normad", judged_by(study, readings, lambda call: "?"))
    assert unread["unscored_reason"].null_count() == 0
    assert unread["verdict"].null_count() == len(unread) == 24
