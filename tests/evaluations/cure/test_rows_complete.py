"""All rows of a model: complete whatever is missing, and the same in whatever order answers come."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from tasks.evaluations.cure.answers import NO_ANSWER, read_responses
from tasks.evaluations.cure.label_rows import SCORES
from tasks.evaluations.cure.materials import build_materials
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.rows import model_rows
from tasks.evaluations.cure.scores import NO_JUDGE, score_model
from tasks.metric_rows import Metric
from tests.evaluations.cure.conftest import (
    MakeStudy,
    Said,
    judged_by,
    real_only,
    response,
    right_answers,
    scored,
    tables,
)
from tests.evaluations.cure.row_checks import METRICS, check, keys, one

COUNTED = {"unscored_answers"}
"""Rows that there are for the reasons that occur."""


def rows_of(study: Study, responses: Any, said: Said = real_only) -> list[Metric]:
    found = model_rows(study, {"m": scored(study, responses, said)}, {"m": "x"})["m"]
    check(found)
    return found


def fixed(rows: list[Metric]) -> list[Any]:
    return [key for key in keys(rows) if key[0] not in COUNTED]


def test_every_metric_of_the_catalogue_is_made(make_study: MakeStudy) -> None:
    study = make_study()
    responses = right_answers(study) | {("casa", "thin", "casa-x-in-adhere"): response("?")}
    assert {r.metric for r in rows_of(study, responses)} == set(METRICS)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"modes": ["thin"]},
        {"modes": ["thick"]},
        {"benchmarks": ["casa", "specnorm"]},
        {"items_per_benchmark": 1},
        {"judge_samples": 1},
    ],
    ids=str,
)
def test_nothing_answered_has_the_same_rows(make_study: MakeStudy, shape: dict[str, Any]) -> None:
    study = make_study(**shape)
    full, none = rows_of(study, right_answers(study)), rows_of(study, {})
    assert fixed(full) == fixed(none)
    labels = [r for r in none if r.metric in SCORES]
    assert labels
    assert {r.unscored_reason for r in labels} == {NO_ANSWER}
    assert all(r.null_value is not None for r in labels)


def test_thin_alone_has_no_judged_rows(make_study: MakeStudy) -> None:
    study = make_study(modes=["thin"])
    metrics = {r.metric for r in rows_of(study, right_answers(study))}
    assert not metrics & {"coverage", "explanation_gain", "thin_thick_difference", "self_preference_warning"}


def test_no_judge_has_the_same_rows(make_study: MakeStudy) -> None:
    with_judge, without = make_study(), make_study(judges=[])
    found = rows_of(without, right_answers(without))
    assert fixed(found) == fixed(rows_of(with_judge, right_answers(with_judge)))
    coverage = one(found, "coverage", "normad")
    assert (coverage.value, coverage.unscored_reason, coverage.null_value) == (None, NO_JUDGE, None)
    assert one(found, "explanation_gain", "normad").unscored_reason == NO_JUDGE
    assert one(found, "tells_real_from_shuffled", "normad").unscored_reason == NO_JUDGE
    assert one(found, "self_preference_warning").unscored_reason == NO_JUDGE
    assert one(found, "unscored_answers", f"normad:judged:{NO_JUDGE}").value == 6


def test_a_judge_that_says_nothing_leaves_labels_alone(make_study: MakeStudy) -> None:
    study = make_study()
    found = rows_of(study, right_answers(study), lambda call: "I cannot say.")
    assert one(found, "exact_match", "casa:thick").value == 1.0
    assert "no complete JSON object" in (one(found, "connotation", "casa").unscored_reason or "")
    assert one(found, "judge_disagreement", "specnorm").value is None


def test_nulls_are_known_where_the_model_says_nothing(make_study: MakeStudy) -> None:
    study = make_study()
    found = rows_of(study, {})
    assert one(found, "coverage", "normad").null_value == pytest.approx(0.1)
    assert one(found, "coverage", "normad:generic").value == pytest.approx(0.1)
    assert one(found, "coverage", "normad:shuffled").unscored_reason == NO_ANSWER


def test_items_without_a_country_are_in_no_countrys_row(make_study: MakeStudy) -> None:
    rows = [
        {"country": name, "story": f"S {name}", "explanation": f"E {name}", "gold_label": "yes"}
        for name in ("japan", "atlantis")
    ]
    study = make_study(benchmarks=["normad"])
    materials = build_materials(study.params, tables(), {"normad": {"n.csv": rows}})
    published = dataclasses.replace(study, materials=materials)
    found = rows_of(published, right_answers(published))
    assert one(found, "exact_match", "normad:thin").n_scored == 2
    assert [r.slice for r in found if r.slice_kind == "benchmark_country"] == ["normad:JP"]


def noisy(call: Any) -> float:
    """A mark that depends on the call alone."""
    return random.Random(str(call.key)).random()


def some_answers(study: Study) -> dict[Any, Any]:
    """Answers of which some are wrong and some cannot be read."""
    mixed = random.Random(3)
    return {
        cell.key: response(mixed.choice(["yes", "no", "?"]), "word " * mixed.randint(0, 9))
        for cell in study.all_cells()
    }


def test_the_order_of_items_answers_and_opinions_changes_nothing(make_study: MakeStudy) -> None:
    study = make_study()
    responses = some_answers(study)
    first = rows_of(study, responses, noisy)
    mixed = random.Random(4)
    rows = tables()
    mixed.shuffle(rows["cure_item"])
    again = make_study(rows, benchmarks=["specnorm", "casa", "normad", "culturebank"])
    assert again.config_hash() == study.config_hash()
    shuffled = dict(mixed.sample(sorted(responses.items()), len(responses)))
    readings = read_responses(again, shuffled)
    votes = judged_by(again, readings, noisy)
    mixed.shuffle(votes)
    found = score_model(again, readings, votes)
    assert model_rows(again, {"m": found}, {"m": "x"})["m"] == first


def test_another_model_moves_coherence_alone(make_study: MakeStudy) -> None:
    study = make_study()
    a, b = scored(study, some_answers(study), noisy), scored(study, right_answers(study), noisy)
    alone = model_rows(study, {"a": a}, {"a": "x"})["a"]
    beside = model_rows(study, {"a": a, "b": b}, {"a": "x", "b": "y"})["a"]
    changed = {old.metric for old, new in zip(alone, beside, strict=True) if old != new}
    assert "coherence" in changed
    of_coherence = {"coherence", "coherence_length_slope", "explanation_gain", "tells_real_from_shuffled"}
    assert changed <= of_coherence | {"metric_correlation"}
    unmoved = [r for r in beside if r.metric == "explanation_gain" and r.slice != "culturebank"]
    assert set(unmoved) <= set(alone)
