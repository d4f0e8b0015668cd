"""From responses and vectors to arrays, by hand; and single answers as rows."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.worldwise.answer_rows import SCHEMA, answer_frame
from tasks.evaluations.worldwise.projections import TextVectors, fixed_texts
from tasks.evaluations.worldwise.scores import Response, answer_texts, read_responses
from tests.evaluations.worldwise.conftest import (
    MakeStudy,
    embedded,
    placed_at,
    response,
    scored,
    space_of,
)


def test_scores_lie_where_the_texts_say(make_study: MakeStudy) -> None:
    study = make_study()
    found = scored(study, placed_at(study))
    assert found.scores.shape == (4, 4, 1, 3)
    assert found.scores[3, 2, 0] == pytest.approx([0, 1.1, 0.5], abs=1e-6)  # MX on p1
    assert found.primary[3, :, 0] == pytest.approx([0.6, 1.0, 1.1, -0.5])
    assert found.alignment[3, :, 0] == pytest.approx([9, 10, 6, 10])
    assert np.isnan(found.alignment[0]).all()
    assert (found.reasons == "").all()
    assert found.decisions.tolist() == np.zeros((4, 4, 1)).tolist()
    assert found.choices[1, 1, 0].tolist() == [0, 1, 2]
    assert found.n_tokens == 16 * 120


def test_scenarios_lie_where_their_texts_say(make_study: MakeStudy) -> None:
    study = make_study()
    assert space_of(study).scenario_scores[:, :2] == pytest.approx(
        np.array([[0, 0], [-0.5, 0], [0, 0], [0, 1]]), abs=1e-6
    )


def test_each_text_is_embedded_once(make_study: MakeStudy) -> None:
    study = make_study(repetitions=3, decision="letter")
    assert len(fixed_texts(study)) == 6 + 4
    responses = {cell.key: response("Because at (0, 0, 0)") for cell in study.cells()}
    assert answer_texts(study, read_responses(study, responses)) == [
        "Family Harmony, Future Planning, Achievement & Success. Because at (0, 0, 0) Decision: A."
    ]


def test_repetitions_are_apart(make_study: MakeStudy) -> None:
    study = make_study(repetitions=2)
    responses = {
        cell.key: response(f"So at ({cell.repetition / 2}, {cell.repetition / 4}, 0)")
        for cell in study.cells()
    }
    found = scored(study, responses)
    assert found.primary[1, 0] == pytest.approx([0, 0.5], abs=1e-6)
    assert found.primary[1, 2] == pytest.approx([0, 0.25], abs=1e-6)


def test_unscored_cells_have_reasons_and_no_numbers(make_study: MakeStudy) -> None:
    study = make_study()
    responses = placed_at(study)
    responses["IN", "i1", 0] = Response("", "refusal", 50, 3)
    responses["IN", "i2", 0] = response("somewhere at nowhere", "B")
    del responses["JP", "p1", 0]
    found = scored(study, responses)
    assert found.reasons[1, :, 0].tolist() == ["refused", "the embedder has no vector for the text", "", ""]
    assert found.reasons[2, 2, 0] == "not asked or not answered"
    assert np.isnan(found.scores[1, :2]).all()
    assert np.isnan(found.alignment[1, :2]).all()
    # What could be read still counts where no vector is needed.
    assert found.decisions[1, :, 0].tolist() == [-1, 1, 0, 0]
    assert found.choices[1, 0, 0].tolist() == [-1, -1, -1]
    assert np.isnan(found.stereotype[1, 0, 0])
    assert found.stereotype[1, 1, 0] == 10
    assert found.n_tokens == 15 * 120 - 120 + 53


def test_nothing_at_all(make_study: MakeStudy) -> None:
    study = make_study()
    found = scored(study, {})
    assert (found.reasons == "not asked or not answered").all()
    assert found.n_tokens is None


def test_vectors_must_fit_their_texts() -> None:
    with pytest.raises(ValueError, match="2 texts, 1 vectors"):
        TextVectors.of(["a", "b"], np.zeros((1, 3), dtype=np.float32), [False, False])
    with pytest.raises(ValueError, match="1 texts, 2 vectors"):
        TextVectors.of(["a", "a"], np.zeros((2, 3), dtype=np.float32), [False, False])
    with pytest.raises(KeyError):
        embedded(["x at (0, 0, 0)"]).take(["y"])


# --- single answers


def test_answers_as_rows(make_study: MakeStudy) -> None:
    study = make_study()
    responses = placed_at(study)
    responses["IN", "i1", 0] = response("A long one at (0.4, 0, 0)", "B", ["Group Loyalty"])
    responses["IN", "i2", 0] = Response("?", "stop", 1, 1)
    items = {key: "-".join(map(str, key)) for key in responses}
    frame = answer_frame(study, read_responses(study, responses), scored(study, responses), items)
    assert frame.schema == SCHEMA
    assert len(frame) == 16
    first, second = frame.filter(culture="IN").head(2).to_dicts()
    assert first.pop("score") == pytest.approx(0.4)
    assert first.pop("alignment") == pytest.approx(9)
    assert first == {
        "condition": study.config_hash(), "culture": "IN", "scenario": "i1", "repetition": 0,
        "framework": "hofstede", "dimension": "individualism", "category": "family", "item": "IN-i1-0",
        "decision": "B", "value_1": "Group Loyalty", "value_2": None, "value_3": None,
        "explanation": "A long one at (0.4, 0, 0)", "target": 0.0, "words": 7, "truncated": True,
        "unscored_reason": None,
    }  # fmt: skip
    assert second["unscored_reason"] == "unparsable answer"
    nothing = ("decision", "value_1", "explanation", "score", "alignment", "words", "truncated")
    assert [second[name] for name in nothing] == [None] * 7
    assert second["target"] == 0.0
    baseline = frame.filter(culture="baseline").row(0, named=True)
    assert (baseline["target"], baseline["alignment"]) == (None, None)
    assert baseline["score"] == pytest.approx(0.5)
