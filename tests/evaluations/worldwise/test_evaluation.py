"""Rounds of requests, answers from stored completions, and rows of a cohort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tasks.evaluations.contract import Cohort, Completions, comparable
from tasks.evaluations.worldwise.answers import NO_TARGET, samples
from tasks.evaluations.worldwise.evaluation import EVALUATION
from tasks.evaluations.worldwise.params import MINILM, WorldwiseParams
from tasks.evaluations.worldwise.read import Space, WorldwiseAnswers, fixed_texts
from tasks.evaluations.worldwise.study import Key, WorldwiseStudy
from tasks.loop.prompts import Completion, Prompts
from tasks.loop.replies import NO_ANSWER
from tasks.loop.requests import Engine, Request
from tasks.loop.texts import Texts
from tests.evaluations.row_checks import check, one
from tests.evaluations.worldwise.conftest import (
    MakeStudy,
    Scores,
    completion,
    embedded,
    placed_at,
    scored,
    space_of,
    tables,
)

EMBEDDER = Engine(MINILM, "embedder", MINILM, "e-hash")


class Stored(Completions):
    """Stored completions, and vectors of all texts."""

    def __init__(self, study: WorldwiseStudy, completed: Mapping[Key, Completion]) -> None:
        super().__init__(Engine("m", "fake", "m", "m-hash"), {MINILM: EMBEDDER}, lambda *_: 1 / 0)
        stored = {s.prompt.id: completed[s.key] for s in study.samples if s.key in completed}
        object.__setattr__(self, "stored", stored)

    def __call__(self, request: Request[Any]) -> Any:
        if isinstance(request, Texts):
            return embedded(request.texts)
        assert isinstance(request, Prompts)
        known = vars(self)["stored"]
        return {unit: known[unit] for unit in request.units if unit in known}


@pytest.fixture(scope="module")
def study(make_study: MakeStudy) -> WorldwiseStudy:
    return make_study(repetitions=2)


def answers(study: WorldwiseStudy, scores: Scores | None = None, without: str = "") -> WorldwiseAnswers:
    """Return a model's answers, read as the loop reads them."""
    completed = placed_at(study, scores) if scores else placed_at(study)
    some = {key: value for key, value in completed.items() if key[0] != without}
    answers: WorldwiseAnswers = EVALUATION.read(study, Stored(study, some), space_of(study))
    return answers


# --- ask


def test_prompts_come_first_and_then_vectors_of_readable_answers(study: WorldwiseStudy) -> None:
    requests = EVALUATION.ask(study, Stored(study, {}))
    assert list(requests) == list(study.requests)
    assert sum(len(request.units) for request in requests) == study.n_samples == 32
    completed = {
        ("IN", "i1", 0): completion("Because at (0, 0, 0)"),
        ("IN", "i1", 1): completion("Otherwise at (0, 1, 0)", "B", ["Group Loyalty"]),
        ("JP", "i1", 0): Completion("", "refusal", 9, 1),
    }
    *prompts, texts = EVALUATION.ask(study, Stored(study, completed))
    assert prompts == list(study.requests)
    assert isinstance(texts, Texts)
    assert sorted(texts.texts) == [
        "Family Harmony, Future Planning, Achievement & Success. Because at (0, 0, 0) one of i1",
        "Group Loyalty. Otherwise at (0, 1, 0) other at (0, 0, 0)",
    ]
    assert (texts.role, texts.engine, texts.label) == ("embedder", MINILM, "answers")
    refused = {sample.key: Completion("", "refusal", 9, 1) for sample in study.samples}
    assert list(EVALUATION.ask(study, Stored(study, refused))) == list(study.requests)


def test_texts_of_the_study_are_embedded_once_for_all_models(study: WorldwiseStudy) -> None:
    assert EVALUATION.shared is not None
    (request,) = EVALUATION.shared.ask(study, Stored(study, {}))
    assert isinstance(request, Texts)
    assert request.texts == fixed_texts(study)
    assert EVALUATION.engines(study.params) == {request.engine: request.role} == {MINILM: "embedder"}
    space = EVALUATION.shared.read(study, Stored(study, {}))
    assert isinstance(space, Space)
    np.testing.assert_array_equal(space.scenario_scores, space_of(study).scenario_scores)


# --- read


def test_answers_are_read_from_stored_completions(study: WorldwiseStudy) -> None:
    own = answers(study)
    expected = scored(study, placed_at(study))
    np.testing.assert_array_equal(own.scored.scores, expected.scores)
    np.testing.assert_array_equal(own.scored.alignment, expected.alignment)
    assert own.scored.n_tokens == expected.n_tokens == 32 * 120
    some = answers(study, without="IN")
    assert {some.readings["IN", scenario, 0] for scenario in ("i1", "p2")} == {NO_ANSWER}
    assert np.isnan(some.scored.primary[1]).all()
    np.testing.assert_array_equal(some.scored.primary[2:], expected.primary[2:])
    nothing = EVALUATION.read(study, Stored(study, {}), space_of(study))
    assert (nothing.scored.reasons == NO_ANSWER).all()
    assert set(nothing.readings.values()) == {NO_ANSWER}


# --- rows

FLAT: Scores = dict.fromkeys(("baseline", "IN", "JP", "MX"), (0, 0, 0, 0))


def cohort(
    models: dict[str, WorldwiseAnswers], against: dict[str, WorldwiseAnswers]
) -> Cohort[WorldwiseAnswers]:
    return Cohort(models, against, {name: Engine(name, "fake", name, name) for name in models | against})


def test_a_sample_has_its_decision_its_scores_or_why_it_has_none(study: WorldwiseStudy) -> None:
    own = answers(study, without="JP")
    by_id = {each.id: each for each in samples(study, own)}
    assert len(by_id) == len(study.samples)
    scored_one, lost, baseline = by_id["MX:i1:2"], by_id["JP:i1:1"], by_id["baseline:i1:1"]
    place = dict(study.places())["MX", "i1", 1]
    assert scored_one.scores["alignment"].value == own.scored.alignment[place]
    assert scored_one.scores["position"].value == own.scored.primary[place]
    assert {score.answer for score in scored_one.scores.values()} == {"A"}
    for score in lost.scores.values():
        assert (score.value, score.answer, score.explanation) == (None, None, NO_ANSWER)
    assert baseline.scores["alignment"].explanation == NO_TARGET
    assert baseline.scores["position"].value is not None


def test_only_new_models_get_rows_and_are_compared_with_the_cohort(study: WorldwiseStudy) -> None:
    a, b, c = answers(study), answers(study, FLAT), answers(study, without="IN")
    first = EVALUATION.rows(study, cohort({"a": a, "b": b}, {"a": a, "b": b}), space_of(study))
    assert set(first.metrics) == {"a", "b", "null:zero", "null:global-mean", "null:scenario-text"}
    assert set(first.details) == {"a", "b"}
    for rows in first.metrics.values():
        check(rows)
    later = EVALUATION.rows(study, cohort({"c": c}, {"a": a, "b": b}), space_of(study))
    assert set(later.metrics) == {"c", "null:zero", "null:global-mean", "null:scenario-text"}
    assert set(later.details) == {"c"}
    pairs = {r.slice: r for r in later.metrics["c"] if r.metric == "model_difference"}
    assert set(pairs) == {"a", "b"}
    # A model run later gets the same rows as in a joint run.
    models = {"a": a, "b": b, "c": c}
    together = EVALUATION.rows(study, cohort(models, models), space_of(study))
    assert later.metrics["c"] == together.metrics["c"]
    assert one(first.metrics["a"], "variance_model") != one(together.metrics["a"], "variance_model")
    assert first.metrics["null:zero"] == later.metrics["null:zero"]


def test_model_is_not_compared_with_its_earlier_answers(study: WorldwiseStudy) -> None:
    old, new = answers(study, FLAT), answers(study)
    rows = EVALUATION.rows(study, cohort({"a": new}, {"a": old}), space_of(study)).metrics["a"]
    assert not [r for r in rows if r.slice_kind == "model_pair"]
    assert one(rows, "variance_model").unscored_reason == "there is one model only"


def test_each_answer_is_a_row_under_the_cohorts_configuration(make_study: MakeStudy) -> None:
    for named in ("first", "winter"):
        study = make_study(cohort=named)
        own = answers(study)
        ((detail,),) = EVALUATION.rows(study, cohort({"a": own}, {}), space_of(study)).details.values()
        assert (detail.kind, detail.key, detail.frame.height) == ("worldwise_answer", "", 16)
        assert set(detail.frame["config_hash"]) == {comparable(study)}
    assert comparable(study) != study.config_hash()


# --- study


def test_a_study_is_built_from_the_tables() -> None:
    values = [{"value": label.lower(), "label": label} for label in ("Peace", "Quiet", "Rest")]
    chosen: dict[str, Any] = {"models": ["m"], "targets": "by_hand"}
    params = WorldwiseParams(**chosen)
    study = EVALUATION.study(params, tables() | {"guiding_value": values}, {MINILM: EMBEDDER})
    assert study.content.labels == ["Peace", "Quiet", "Rest"]
    assert study.materials == {"materials": study.content.hash}
    assert EVALUATION.size(study) == "3 cultures and no persona, 4 scenarios, 3 repetitions"
    assert (
        WorldwiseParams(**chosen | {"scenarios_file": None}) == params
    )  # a run stored before the option went
    with pytest.raises(ValueError, match="scenarios_file"):
        WorldwiseParams(**chosen | {"scenarios_file": "mine.csv"})
