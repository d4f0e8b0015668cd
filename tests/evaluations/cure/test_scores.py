"""Votes to scores, and coherence at equal length."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tasks.evaluations.cure.read import ExplanationJudgeCall, Reply, read_answers
from tasks.evaluations.cure.scores import NO_PARTNER, CureScores, equal_lengths, score_model
from tasks.evaluations.cure.study import CureStudy, Key
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED, Opinion, Verdict
from tasks.loop.prompts import Completion
from tasks.loop.replies import CUT_OFF
from tests.evaluations.cure.conftest import (
    MakeStudy,
    asked,
    completion,
    judge,
    judged_by,
    real_only,
    right_answers,
    row,
    scored,
    tables,
)


def test_an_ensemble_is_its_votes_mean_and_spread(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["specnorm"])
    votes = {0: 0.9, 1: 0.6, 2: 0.3}
    real = scored(study, right_answers(study), lambda call: votes[call.sample]).judged["specnorm", "real"]
    # Mean (0.9 + 0.6 + 0.3) / 3 = 0.6; deviations 0.3, 0, -0.3: sd = sqrt(0.18 / 2) = 0.3; YES, YES, NO.
    assert real.scores == pytest.approx([0.6] * 3)
    assert real.disagreement == pytest.approx([0.3] * 3)
    assert real.verdicts == ("YES",) * 3


def test_several_judges_are_averaged(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"], judges=[judge("j"), judge("k")])
    real = scored(study, right_answers(study), real_only).judged["normad", "real"]
    assert real.scores == pytest.approx([0.9] * 6)
    assert real.disagreement == pytest.approx([0.0] * 6)


def test_a_single_vote_has_no_disagreement(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"])
    real = scored(study, right_answers(study), real_only).judged["normad", "real"]
    assert np.isnan(real.disagreement).all()
    assert real.words.tolist() == [3.0] * 6


def test_reasons(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"])
    completions = right_answers(study)
    completions["normad", "thick", "normad-f0-in"] = Completion('{"label": "yes", "ex', "length", 1, 1)

    def said(call: ExplanationJudgeCall) -> float | str:
        return "YES" if call.item.country == "JP" else 0.9

    answers = scored(study, completions, said)
    real = answers.judged["normad", "real"]
    assert (real.scores[0], real.reasons[0], real.lost[0]) == (0.0, "", CUT_OFF)
    assert "no complete JSON object" in real.reasons[1]
    assert real.reasons[2:].tolist() == [""] * 4
    assert (np.isnan(real.scores) == (real.reasons != "")).all()
    assert answers.judged["normad", "shuffled"].reasons[0] == CUT_OFF
    assert answers.judged["normad", "empty"].reasons[0] == ""


def test_a_judge_that_has_not_answered_leaves_the_explanation_unscored(make_study: MakeStudy) -> None:
    """The mean of the other judge alone could not be compared with the means of both; its own is known."""
    study = make_study(benchmarks=["specnorm"], judges=[judge("j"), judge("k")])
    readings = read_answers(study, right_answers(study))
    votes = [
        Reply(r.judge, r.call, Opinion(Verdict("explanation", None, None, None, UNANSWERED)))
        if (r.judge, r.call.item.country, r.call.sample) == ("k", "JP", 2)
        else r
        for r in judged_by(study, readings, real_only)
    ]
    real = score_model(study, readings, votes).judged["specnorm", "real"]
    assert real.scores == pytest.approx([0.9, np.nan, 0.9], nan_ok=True)
    assert real.reasons.tolist() == ["", UNANSWERED, ""]
    assert real.by_judge["j"] == pytest.approx([0.9] * 3)
    assert real.by_judge["k"] == pytest.approx([0.9, np.nan, 0.9], nan_ok=True)


def test_nobody_judges(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"], judges=[])
    answers = scored(study, right_answers(study), real_only)
    assert set(answers.judged["normad", "real"].reasons) == {NO_JUDGE}
    assert set(answers.judged["normad", "shuffled"].reasons) == {NO_JUDGE}


def test_no_other_item_to_shuffle_with(make_study: MakeStudy) -> None:
    rows = tables() | {"cure_item": [row("culturebank", "c", "IN", "yes")]}
    study = make_study(rows, benchmarks=["culturebank"])
    answers = scored(study, right_answers(study), real_only)
    assert answers.judged["culturebank", "shuffled"].reasons.tolist() == [NO_PARTNER]


def test_thin_alone_has_labels_alone(make_study: MakeStudy) -> None:
    study = make_study(modes=["thin"])
    answers = scored(study, right_answers(study), real_only)
    assert set(answers.labelled) == {(benchmark, "thin") for benchmark in study.benchmarks}
    assert answers.judged == {}


def of_lengths(study: CureStudy, marks: dict[int, float]) -> CureScores:
    """A model whose explanations of CultureBank have these numbers of words and are judged so; other items
    have none."""
    samples = asked(study, "culturebank", "thick")
    completions: dict[Key, Completion] = {
        sample.key: completion("yes", " ".join(["word"] * n))
        for sample, n in zip(samples, marks, strict=False)
    }
    return scored(study, completions, lambda call: marks.get(len(call.text.split()), 0.25))


def test_coherence_at_equal_length(make_study: MakeStudy) -> None:
    # log(1 + words) of 1, 3 and 7 words is 1, 2 and 3 times log 2. Within each model the score rises by 0.2
    # for each log 2, so the slope is 0.2 / log 2. All four explanations have 2 log 2 in the mean.
    study = make_study(benchmarks=["culturebank"])
    cohort = {"a": of_lengths(study, {1: 0.2, 3: 0.4}), "b": of_lengths(study, {3: 0.6, 7: 0.8})}
    equal = equal_lengths(cohort, against=cohort)
    a, b = (equal[model].judged["culturebank", "real"] for model in "ab")
    assert equal["a"].slopes == equal["b"].slopes == {"culturebank": pytest.approx(0.2 / math.log(2))}
    assert a.scores[:2] == pytest.approx([0.4, 0.4])  # 0.2 + 0.2, 0.4
    assert b.scores[:2] == pytest.approx([0.6, 0.6])  # 0.6, 0.8 - 0.2
    assert (a.raw[:2].tolist(), b.raw[:2].tolist()) == (
        pytest.approx([0.2, 0.4]),
        pytest.approx([0.6, 0.8]),
    )
    # Swapped, the explanations keep their own length's adjustment; the empty one is not adjusted.
    assert equal["a"].judged["culturebank", "shuffled"].scores[:2] == pytest.approx([0.4, 0.4])
    assert equal["a"].judged["culturebank", "empty"].scores == pytest.approx([0.25] * 6)


def test_a_model_outside_the_cohort_is_adjusted_and_changes_nothing(make_study: MakeStudy) -> None:
    """By the cohort's slope, 0.2 / log 2, to its mean length, 2 log 2; its own slope would be 0.8 / log 2."""
    study = make_study(benchmarks=["culturebank"])
    cohort = {"a": of_lengths(study, {1: 0.2, 3: 0.4}), "b": of_lengths(study, {3: 0.6, 7: 0.8})}
    new = of_lengths(study, {1: 0.1, 3: 0.9, 7: 0.9})
    adjusted = equal_lengths({"new": new, "a": cohort["a"]}, against=cohort)
    real = adjusted["new"].judged["culturebank", "real"]
    assert adjusted["new"].slopes["culturebank"] == pytest.approx(0.2 / math.log(2))
    assert real.scores[:3] == pytest.approx([0.1 + 0.2, 0.9, 0.9 - 0.2])
    assert real.raw[:3] == pytest.approx([0.1, 0.9, 0.9])
    before = equal_lengths(cohort, against=cohort)["a"]
    assert adjusted["a"].slopes == before.slopes
    np.testing.assert_array_equal(
        adjusted["a"].judged["culturebank", "real"].scores, before.judged["culturebank", "real"].scores
    )
    assert set(adjusted) == {"new", "a"}


def test_one_model_keeps_its_mean(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["culturebank"])
    alone = {"a": of_lengths(study, {1: 0.1, 3: 0.9, 7: 0.3})}
    adjusted = equal_lengths(alone, against=alone)["a"]
    real = adjusted.judged["culturebank", "real"]
    assert np.nanmean(real.scores) == pytest.approx(np.nanmean(real.raw))
    assert np.nanstd(real.scores) < np.nanstd(real.raw)


def test_equal_lengths_have_no_slope(make_study: MakeStudy) -> None:
    study = make_study()
    alone = {"a": scored(study, right_answers(study), real_only)}
    adjusted = equal_lengths(alone, against=alone)["a"]
    assert adjusted.slopes == {"culturebank": None}
    assert adjusted.judged["culturebank", "real"].scores == pytest.approx([0.9] * 6)
