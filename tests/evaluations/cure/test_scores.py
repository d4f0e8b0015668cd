"""Votes to scores."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.cure.read import (
    NO_PARTNER,
    Explained,
    ExplanationJudgeCall,
    Reply,
    read_answers,
    score_model,
)
from tasks.evaluations.cure.rows import joined, model_rows
from tasks.judging.verdicts import NO_JUDGE, UNANSWERED, Opinion, Verdict
from tasks.loop.prompts import Completion
from tasks.loop.replies import CUT_OFF
from tasks.loop.requests import Engine
from tests.evaluations.cure.conftest import (
    COUNTRIES,
    LABELS,
    MakeStudy,
    judge,
    judged_by,
    real_only,
    right_answers,
    row,
    scored,
    tables,
)
from tests.evaluations.row_checks import one


def test_scores_are_means_over_judges_and_unscored_without_judges(make_study: MakeStudy) -> None:
    def judged(*judges: Engine, source: str = "real") -> Explained:
        study = make_study(benchmarks=["normad"], judges=judges)
        return scored(study, right_answers(study), real_only).judged["normad", source]

    both, alone = judged(judge("j"), judge("k")), judged(judge("j"))
    assert both.scores == pytest.approx([0.9] * 6)
    assert both.disagreement == pytest.approx([0.0] * 6)
    assert np.isnan(alone.disagreement).all()
    for source in ("real", "shuffled"):
        assert set(judged(source=source).reasons) == {NO_JUDGE}
    lone = make_study(
        tables() | {"cure_item": [row("culturebank", "c", "IN", "yes")]}, benchmarks=["culturebank"]
    )
    nobody = scored(lone, right_answers(lone), real_only).judged["culturebank", "shuffled"]
    assert nobody.reasons.tolist() == [NO_PARTNER]


def test_lost_explanations_score_zero_and_unreadable_verdicts_are_unscored(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["normad"])
    completions = right_answers(study)
    completions["normad", "thick", "normad-f0-in"] = Completion('{"label": "yes", "ex', "length", 1, 1)

    answers = scored(study, completions, lambda call: "YES or NO" if call.item.country == "JP" else 0.9)
    real = answers.judged["normad", "real"]
    assert (real.scores[0], real.reasons[0], real.lost[0]) == (0.0, "", CUT_OFF)
    assert "no complete JSON object" in real.reasons[1]
    assert real.reasons[2:].tolist() == [""] * 4
    assert (np.isnan(real.scores) == (real.reasons != "")).all()
    assert answers.judged["normad", "shuffled"].reasons[0] == CUT_OFF
    assert answers.judged["normad", "empty"].reasons[0] == ""


def test_missing_vote_leaves_its_explanation_unscored(make_study: MakeStudy) -> None:
    """The mean of one judge is not comparable with means of two; each judge's own mean stays."""
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


def test_items_that_share_a_judge_prompt_form_one_cluster() -> None:
    of_items = np.array(["IN", "IN", "JP", "KE", "MX", "BR"])
    names = joined(of_items, ("a", "b", "b", "", "c", "")).tolist()
    assert names[0] == names[1] == names[2]
    assert len(set(names)) == 4, "India and Japan, and three by themselves: nothing asked joins nothing"
    assert len(set(joined(of_items, [""] * 6))) == 5


def test_nulls_on_three_norms_have_no_interval(make_study: MakeStudy) -> None:
    """Six countries have three norms, so three prompts about an empty text, too few for an interval."""

    def marks(call: ExplanationJudgeCall) -> float:
        norm = int(call.item.gold[5]) / 10
        return norm + 0.1 + (len(call.item.label) / 20 if call.source == "real" else 0)

    items = [
        row("normad", f"normad-f{n}-{country.lower()}", country, LABELS[country], gold=f"Norm {n % 3}.",
            rule=f"Rule {n}.")
        for n, country in enumerate(COUNTRIES)
    ]  # fmt: skip
    study = make_study(tables() | {"cure_item": items}, benchmarks=["normad"], nulls=None)
    alone = {"m": scored(study, right_answers(study), marks)}
    nulls = alone["m"].judged["normad", "empty"]
    assert len(set(nulls.questions)) == 3
    rows = model_rows(study, alone, {"m": "other/Model"})["m"]
    assert one(rows, "coverage", "normad").ci_low is not None
    for name in ("normad:empty", "normad:generic"):
        null = one(rows, "coverage", name)
        assert (null.value, null.n_scored, null.ci_low) == (pytest.approx(0.2), 6, None)
