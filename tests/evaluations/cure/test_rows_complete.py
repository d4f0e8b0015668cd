"""All rows of a model: complete when answers are missing, and independent of order."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from tasks.evaluations.cure.read import read_answers, score_model
from tasks.evaluations.cure.rows import SCORES, model_rows
from tasks.evaluations.cure.study import CureStudy, build_materials
from tasks.evaluations.until import DIFFERENCE, SHARE_SENT
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.replies import NO_ANSWER
from tasks.loop.rows import Metric
from tests.evaluations.cure.conftest import (
    Judging,
    MakeStudy,
    completion,
    judged_by,
    real_only,
    right_answers,
    samples_of,
    scored,
    tables,
)
from tests.evaluations.row_checks import check, keys, metrics, one

COUNTED = {"unscored_answers"}
"""Metrics with one row per reason that occurs."""


def rows_of(study: CureStudy, completions: Any, judging: Judging = real_only) -> list[Metric]:
    alone = {"m": scored(study, completions, judging)}
    rows = model_rows(study, alone, {"m": "x"})["m"]
    check(rows)
    return rows


def fixed(rows: list[Metric]) -> list[Any]:
    return [key for key in keys(rows) if key[0] not in COUNTED]


def test_each_metric_of_the_catalogue_has_a_row(make_study: MakeStudy) -> None:
    study = make_study()
    completions = right_answers(study) | {("casa", "thin", "casa-x-in-adhere"): completion("?")}
    of_full_runs = set(metrics("cure")) - {SHARE_SENT, DIFFERENCE}
    assert {r.metric for r in rows_of(study, completions)} == of_full_runs


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
def test_lost_answers_leave_the_same_rows_unscored(make_study: MakeStudy, shape: dict[str, Any]) -> None:
    study = make_study(**shape)
    full, none = rows_of(study, right_answers(study)), rows_of(study, {})
    assert fixed(full) == fixed(none)
    labels = [r for r in none if r.metric in SCORES]
    assert labels
    assert {r.unscored_reason for r in labels} == {NO_ANSWER}
    assert all(r.null_value is not None for r in labels)
    judged = {"coverage", "explanation_gain", "thin_thick_difference", "self_preference_warning"}
    assert bool({r.metric for r in full} & judged) == ("thick" in study.params.modes)
    if not shape:  # the nulls do not depend on the model
        assert one(none, "coverage", "normad").null_value == pytest.approx(0.1)
        assert one(none, "coverage", "normad:generic").value == pytest.approx(0.1)
        assert one(none, "coverage", "normad:shuffled").unscored_reason == NO_ANSWER


def test_missing_judges_leave_the_same_rows_unscored(make_study: MakeStudy) -> None:
    with_judge, without = make_study(), make_study(judges=[])
    rows = rows_of(without, right_answers(without))
    full = rows_of(with_judge, right_answers(with_judge))
    assert fixed(rows) == fixed([row for row in full if row.slice_kind != "benchmark_judge"])
    coverage = one(rows, "coverage", "normad")
    assert (coverage.value, coverage.unscored_reason, coverage.null_value) == (None, NO_JUDGE, None)
    for metric in ("explanation_gain", "tells_real_from_shuffled", "judge_generic_refused"):
        assert one(rows, metric, "normad").unscored_reason == NO_JUDGE
    assert one(rows, "self_preference_warning").unscored_reason == NO_JUDGE
    assert one(rows, "unscored_answers", f"normad:judged:{NO_JUDGE}").value == 6


def test_items_without_a_country_have_no_country_row(make_study: MakeStudy) -> None:
    rows = [
        {"country": name, "story": f"S {name}", "explanation": f"E {name}", "gold_label": "yes"}
        for name in ("japan", "atlantis")
    ]
    study = make_study(benchmarks=["normad"])
    materials = build_materials(study.params, tables(), {"normad": {"n.csv": rows}})
    published = dataclasses.replace(study, chosen=materials)
    metrics = rows_of(published, right_answers(published))
    assert one(metrics, "exact_match", "normad:thin").n_scored == 2
    assert [r.slice for r in metrics if r.slice_kind == "benchmark_country"] == ["normad:JP"]


def noisy(call: Any) -> float:
    """Return a mark that depends only on the call."""
    return random.Random(str(call.key)).random()


def some_answers(study: CureStudy) -> dict[Any, Any]:
    """Return answers of which some are wrong and some unreadable."""
    mixed = random.Random(3)
    return {
        sample.key: completion(mixed.choice(["yes", "no", "?"]), "word " * mixed.randint(0, 9))
        for sample in samples_of(study)
    }


def test_order_of_items_answers_and_votes_changes_no_row(make_study: MakeStudy) -> None:
    study = make_study()
    completions = some_answers(study)
    first = rows_of(study, completions, noisy)
    mixed = random.Random(4)
    rows = tables()
    mixed.shuffle(rows["cure_item"])
    again = make_study(rows, benchmarks=["specnorm", "casa", "normad", "culturebank"])
    assert again.config_hash() == study.config_hash()
    shuffled = dict(mixed.sample(sorted(completions.items()), len(completions)))
    readings = read_answers(again, shuffled)
    votes = judged_by(again, readings, noisy)
    mixed.shuffle(votes)
    alone = {"m": score_model(again, readings, votes)}
    assert model_rows(again, alone, {"m": "x"})["m"] == first
