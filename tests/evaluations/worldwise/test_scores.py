"""Arrays from completions and vectors by hand, and single answers as rows."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.worldwise.answers import SCHEMA, answer_frame
from tasks.evaluations.worldwise.read import (
    NO_VECTOR,
    WorldwiseAnswers,
    answer_texts,
    build_space,
    fixed_texts,
    read_completions,
)
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER
from tests.evaluations.worldwise.conftest import MakeStudy, completion, embedded, placed_at, scored, space_of


def test_hand_calculation_gives_scores_of_answers_scenarios_and_repetitions(make_study: MakeStudy) -> None:
    study = make_study()
    answers = scored(study, placed_at(study))
    assert answers.scores.shape == (4, 4, 1, 3)
    assert answers.scores[3, 2, 0] == pytest.approx([0, 1.1, 0.5], abs=1e-6)  # MX on p1
    assert answers.primary[3, :, 0] == pytest.approx([0.6, 1.0, 1.1, -0.5])
    assert answers.alignment[3, :, 0] == pytest.approx([9, 10, 6, 10])
    assert np.isnan(answers.alignment[0]).all()
    assert (answers.reasons == "").all()
    assert answers.decisions.tolist() == np.zeros((4, 4, 1)).tolist()
    assert answers.choices[1, 1, 0].tolist() == [0, 1, 2]
    assert answers.n_tokens == 16 * 120
    scenarios = np.array([[0, 0], [-0.5, 0], [0, 0], [0, 1]])
    assert space_of(study).scenario_scores[:, :2] == pytest.approx(scenarios, abs=1e-6)
    twice = make_study(repetitions=2)
    of_repetition = {
        sample.key: completion(f"So at ({sample.key[2] / 2}, {sample.key[2] / 4}, 0)")
        for sample in twice.samples
    }
    primary = scored(twice, of_repetition).primary[1]
    assert primary[0] == pytest.approx([0, 0.5], abs=1e-6)
    assert primary[2] == pytest.approx([0, 0.25], abs=1e-6)


def test_exemplars_without_a_vector_are_refused_with_embedder_and_dimension(make_study: MakeStudy) -> None:
    study = make_study(embedder="words.vec")
    texts = fixed_texts(study)
    all_of_them = embedded(texts)
    for text in ("low individualism", "high power_distance"):
        all_of_them.vectors[texts.index(text)] = 0
    with pytest.raises(ValueError, match=r"^--embedder words\.vec has no vector") as caught:
        build_space(study, all_of_them)
    message = str(caught.value)
    for part in ("2 of the 6 exemplars", "1 of individualism, 1 of power_distance.", "'low individualism'"):
        assert part in message
    assert "Name an embedder" in message


def test_embedded_texts_are_exemplars_scenarios_and_answers_once_each(make_study: MakeStudy) -> None:
    study = make_study(repetitions=3, decision="letter")
    assert len(fixed_texts(study)) == 6 + 4
    completed = {sample.key: completion("Because at (0, 0, 0)") for sample in study.samples}
    texts = answer_texts(study, read_completions(study, completed))
    assert texts == [
        "Family Harmony, Future Planning, Achievement & Success. Because at (0, 0, 0) Decision: A."
    ] * len(study.samples)
    request = study.vectors_of(texts, "answers")
    assert len(request.units) == 1  # equal texts are embedded once
    assert (request.role, request.engine) == ("embedder", study.params.embedder)


def test_unscored_samples_have_reasons_and_no_numbers(make_study: MakeStudy) -> None:
    study = make_study()
    completed = placed_at(study)
    completed["IN", "i1", 0] = Completion("", "refusal", 50, 3)
    completed["IN", "i2", 0] = completion("somewhere at nowhere", "B")
    del completed["JP", "p1", 0]
    answers = scored(study, completed)
    assert answers.reasons[1, :, 0].tolist() == ["refused", NO_VECTOR, "", ""]
    assert answers.reasons[2, 2, 0] == NO_ANSWER
    assert np.isnan(answers.scores[1, :2]).all()
    np.testing.assert_equal(answers.alignment[1, :2, 0], [0.0, np.nan])
    # Readable answers without a vector keep decision and explanation.
    assert answers.decisions[1, :, 0].tolist() == [-1, 1, 0, 0]
    assert answers.choices[1, 0, 0].tolist() == [-1, -1, -1]
    assert answers.explanations[1, 0, 0] == ""
    assert "nowhere" in answers.explanations[1, 1, 0]
    assert answers.n_tokens == 15 * 120 - 120 + 53
    nothing = scored(study, {})
    assert (nothing.reasons == NO_ANSWER).all()
    assert nothing.n_tokens is None


# --- single answers


def test_hand_calculation_gives_answer_rows(make_study: MakeStudy) -> None:
    study = make_study()
    completed = placed_at(study)
    completed["IN", "i1", 0] = completion("A long one at (0.4, 0, 0)", "B", ["Group Loyalty"])
    completed["IN", "i2", 0] = Completion("?", "stop", 1, 1)
    readings = read_completions(study, completed)
    frame = answer_frame(study, WorldwiseAnswers(completed, readings, scored(study, completed)))
    assert frame.schema == SCHEMA
    assert len(frame) == 16
    first, second = frame.filter(culture="IN").head(2).to_dicts()
    assert first.pop("score") == pytest.approx(0.4)
    assert first.pop("alignment") == pytest.approx(9)
    (prompt,) = [sample.prompt for sample in study.samples if sample.key == ("IN", "i1", 0)]
    assert first == {
        "config_hash": study.config_hash(), "culture": "IN", "scenario": "i1", "repetition": 0,
        "framework": "hofstede", "dimension": "individualism", "category": "family", "item": prompt.id,
        "decision": "B", "value_1": "Group Loyalty", "value_2": None, "value_3": None,
        "explanation": "A long one at (0.4, 0, 0)", "target": 0.0, "words": 7, "truncated": True,
        "unscored_reason": None,
    }  # fmt: skip
    assert second["unscored_reason"] == "unparsable answer"
    nothing = ("decision", "value_1", "explanation", "score", "words", "truncated")
    assert [second[name] for name in nothing] == [None] * 6
    assert second["alignment"] == 0
    assert second["target"] == 0.0
    baseline = frame.filter(culture="baseline").row(0, named=True)
    assert (baseline["target"], baseline["alignment"]) == (None, None)
    assert baseline["score"] == pytest.approx(0.5)
