"""Projection on all dimensions, stereotypes, and counts of what could not be scored."""

from __future__ import annotations

import pytest

from tasks.evaluations.worldwise.profile_rows import count_rows, projection_rows, stereotype_rows
from tasks.generation.prompts import Completion
from tests.evaluations.worldwise.conftest import MakeStudy, completion, placed_at, scored, space_of
from tests.evaluations.worldwise.row_checks import check, one


def test_projection_by_hand(make_study: MakeStudy) -> None:
    study = make_study()
    rows = list(projection_rows(study, space_of(study), scored(study, placed_at(study))))
    check(rows)
    # All four answers count on each dimension: 0.5, 0, and twice 0 where power distance was asked about.
    row = one(rows, "projection", "baseline:individualism")
    assert row.value == pytest.approx((0.5 + 0 + 0 + 0) / 4)
    assert (row.n_scored, row.n_unscored) == (4, 0)
    assert row.null_value == pytest.approx(-0.5 / 4)
    assert one(rows, "projection", "MX:power_distance").value == pytest.approx((1.1 - 0.5) / 4)
    assert one(rows, "projection", "MX:power_distance").null_value == pytest.approx(1 / 4)
    # A framework without targets or scenarios is projected on as well.
    assert one(rows, "projection", "JP:achievement").value == pytest.approx(0.5)
    assert one(rows, "projection", "JP:achievement").null_value == pytest.approx(0)
    assert len(rows) == 4 * 3


def test_stereotypes_by_hand(make_study: MakeStudy) -> None:
    study = make_study()
    completed = placed_at(study)
    # One phrase in 20 words or so leaves nothing of the 10 points.
    completed["IN", "i1", 0] = completion("All of them are so at (0, 0, 0)")
    rows = list(stereotype_rows(study, scored(study, completed)))
    check(rows)
    assert one(rows, "stereotype_score", "IN").value == pytest.approx(30 / 4)
    assert one(rows, "stereotype_score", "baseline").value == 10.0
    assert one(rows, "stereotype_score").value == pytest.approx(150 / 16)
    assert one(rows, "stereotype_score").null_value == 10.0
    # The rule of WorldWiseAI 2024 finds a phrase within words too.
    published = make_study(stereotype_rule="substring")
    completed["IN", "i2", 0] = completion("Overall of them are so at (0, 0, 0)")
    assert (
        one(list(stereotype_rows(published, scored(published, completed))), "stereotype_score", "IN").value
        == 5.0
    )
    assert one(list(stereotype_rows(study, scored(study, completed))), "stereotype_score", "IN").value == 7.5


def test_counts_by_hand(make_study: MakeStudy) -> None:
    study = make_study()
    completed = placed_at(study)
    completed["IN", "i1", 0] = Completion("no JSON", "stop", 100, 20)
    completed["IN", "i2", 0] = Completion("{", "length", 100, 320)
    completed["JP", "i1", 0] = Completion("", "content_filter", 0, 0)
    completed["JP", "i2", 0] = completion("somewhere at nowhere")
    completed["MX", "p1", 0] = completion("a long text at (0, 0, 0)")
    del completed["MX", "p2", 0]
    rows = list(count_rows(study, scored(study, completed)))
    check(rows)
    row = one(rows, "answered")
    assert row.value == pytest.approx(11 / 16)
    assert (row.n_scored, row.n_unscored) == (16, 0)
    assert {r.slice: r.value for r in rows if r.metric == "unscored_answers"} == {
        "unparsable answer": 1,
        "cut off at max_tokens": 1,
        "refused": 1,
        "the embedder has no vector for the text": 1,
        "not asked or not answered": 1,
    }
    row = one(rows, "truncated_texts")
    assert (row.value, row.n_scored, row.n_unscored) == (1, 12, 4)
    # 15 answers were given, of which one has none and one 320 instead of 20.
    assert one(rows, "total_tokens").value == 15 * 120 - 120 + 300


def test_counts_of_nothing(make_study: MakeStudy) -> None:
    study = make_study()
    rows = list(count_rows(study, scored(study, {})))
    check(rows)
    assert one(rows, "answered").value == 0.0
    assert one(rows, "unscored_answers", "not asked or not answered").value == 16
    assert one(rows, "total_tokens").unscored_reason == "not asked or not answered"
    assert one(rows, "truncated_texts").unscored_reason == "not asked or not answered"
