"""Votes to scores, and coherence at equal length."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tasks.evaluations.cure.answers import CUT_OFF, Response
from tasks.evaluations.cure.judged import JudgeCall
from tasks.evaluations.cure.requests import Key, Study
from tasks.evaluations.cure.scores import NO_JUDGE, NO_PARTNER, Scored, equal_lengths
from tests.evaluations.cure.conftest import (
    MakeStudy,
    judge,
    real_only,
    response,
    right_answers,
    row,
    scored,
    tables,
)


def test_an_ensemble_is_its_votes_mean_and_spread(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["specnorm"])
    votes = {0: 0.9, 1: 0.6, 2: 0.3}
    found = scored(study, right_answers(study), lambda call: votes[call.sample]).judged["specnorm", "real"]
    # Mean (0.9 + 0.6 + 0.3) / 3 = 0.6; deviations 0.3, 0, -0.3: sd = sqrt(0.18 / 2) = 0.3; YES, YES, NO.
    assert found.scores == pytest.approx([0.6] * 3)
    assert found.disagreement == pytest.approx([0.3] * 3)
    assert found.verdicts == ("YES",) * 3


def test_several_judges_are_averaged(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"], judges=[judge("j"), judge("k")])
    found = scored(study, right_answers(study), real_only).judged["normad", "real"]
    assert found.scores == pytest.approx([0.9] * 6)
    assert found.disagreement == pytest.approx([0.0] * 6)


def test_a_single_vote_has_no_disagreement(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"])
    found = scored(study, right_answers(study), real_only).judged["normad", "real"]
    assert np.isnan(found.disagreement).all()
    assert found.words.tolist() == [3.0] * 6


def test_reasons(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"])
    responses = right_answers(study)
    responses["normad", "thick", "normad-f0-in"] = Response('{"label": "yes", "ex', "length", 1, 1)

    def said(call: JudgeCall) -> float | str:
        return "YES" if call.item.country == "JP" else 0.9

    found = scored(study, responses, said)
    real = found.judged["normad", "real"]
    assert real.reasons[0] == CUT_OFF
    assert "no complete JSON object" in real.reasons[1]
    assert real.reasons[2:].tolist() == [""] * 4
    assert (np.isnan(real.scores) == (real.reasons != "")).all()
    assert found.judged["normad", "shuffled"].reasons[0] == CUT_OFF
    assert found.judged["normad", "empty"].reasons[0] == ""


def test_nobody_judges(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"], judges=[])
    found = scored(study, right_answers(study), real_only)
    assert set(found.judged["normad", "real"].reasons) == {NO_JUDGE}
    assert set(found.judged["normad", "shuffled"].reasons) == {NO_JUDGE}


def test_no_other_item_to_shuffle_with(make_study: MakeStudy) -> None:
    rows = tables() | {"cure_item": [row("culturebank", "c", "IN", "yes")]}
    study = make_study(rows, benchmarks=["culturebank"])
    found = scored(study, right_answers(study), real_only)
    assert found.judged["culturebank", "shuffled"].reasons.tolist() == [NO_PARTNER]


def test_thin_alone_has_labels_alone(make_study: MakeStudy) -> None:
    study = make_study(modes=["thin"])
    found = scored(study, right_answers(study), real_only)
    assert set(found.labelled) == {(benchmark, "thin") for benchmark in study.benchmarks}
    assert found.judged == {}


def of_lengths(study: Study, marks: dict[int, float]) -> Scored:
    """A model whose explanations of CultureBank have these numbers of words and are judged so; other items
    have none."""
    cells = study.cells("culturebank", "thick")
    responses: dict[Key, Response] = {
        cell.key: response("yes", " ".join(["word"] * n)) for cell, n in zip(cells, marks, strict=False)
    }
    return scored(study, responses, lambda call: marks.get(len(call.text.split()), 0.25))


def test_coherence_at_equal_length(make_study: MakeStudy) -> None:
    # log(1 + words) of 1, 3 and 7 words is 1, 2 and 3 times log 2. Within each model the score rises by 0.2
    # for each log 2, so the slope is 0.2 / log 2. All four explanations have 2 log 2 in the mean.
    study = make_study(benchmarks=["culturebank"])
    found = equal_lengths(
        {"a": of_lengths(study, {1: 0.2, 3: 0.4}), "b": of_lengths(study, {3: 0.6, 7: 0.8})}
    )
    a, b = (found[model].judged["culturebank", "real"] for model in "ab")
    assert found["a"].slope == found["b"].slope == pytest.approx(0.2 / math.log(2))
    assert a.scores[:2] == pytest.approx([0.4, 0.4])  # 0.2 + 0.2, 0.4
    assert b.scores[:2] == pytest.approx([0.6, 0.6])  # 0.6, 0.8 - 0.2
    assert (a.raw[:2].tolist(), b.raw[:2].tolist()) == (
        pytest.approx([0.2, 0.4]),
        pytest.approx([0.6, 0.8]),
    )
    # Swapped, the explanations keep their own length's adjustment; the empty one is not adjusted.
    assert found["a"].judged["culturebank", "shuffled"].scores[:2] == pytest.approx([0.4, 0.4])
    assert found["a"].judged["culturebank", "empty"].scores == pytest.approx([0.25] * 6)


def test_one_model_keeps_its_mean(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["culturebank"])
    found = equal_lengths({"a": of_lengths(study, {1: 0.1, 3: 0.9, 7: 0.3})})["a"]
    real = found.judged["culturebank", "real"]
    assert np.nanmean(real.scores) == pytest.approx(np.nanmean(real.raw))
    assert np.nanstd(real.scores) < np.nanstd(real.raw)


def test_equal_lengths_have_no_slope(make_study: MakeStudy) -> None:
    study = make_study()
    found = equal_lengths({"a": scored(study, right_answers(study), real_only)})["a"]
    assert found.slope is None
    assert found.judged["culturebank", "real"].scores == pytest.approx([0.9] * 6)
