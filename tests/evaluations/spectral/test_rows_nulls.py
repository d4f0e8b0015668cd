"""Rows of null models, of missing answers and of degenerate questions, and what every row must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.spectral.read import ModelScore, QuestionAnswers, from_list, score_model, shuffled
from tasks.evaluations.spectral.rows import constant_rows, model_rows, splits
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tasks.metrics.types import CATEGORIES
from tests.evaluations.row_checks import metrics, one
from tests.evaluations.spectral.row_checks import A, categories, check, random_answers, rows_of

MakeStudy = Callable[..., SpectralStudy]
MakeScore = Callable[..., ModelScore]

# --- null models


def test_constant_models_have_the_macro_f1_of_guessing(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study(variants=[1, 2, 3])
    uniform = constant_rows(study, "null:uniform-by-domain")
    always = constant_rows(study, "null:always-LH")
    check(uniform)
    check(always)
    # 3 of 12 are LH: F1 2*3 / (3 + 12) = 0.4, over four classes 0.1.
    assert (one(always, "f1_LH").value, one(always, "macro_f1").value) == (
        pytest.approx(0.4), pytest.approx(0.1)
    )  # fmt: skip
    # All are judged by the same null: what uniform draws score, whose classes average to its macro-F1.
    expected = one(uniform, "macro_f1").value
    own = rows_of(study, {"a": make_score(study, {f"{d}-{v}": A[f"{d}-1"] for d in
        ("numbers", "foods", "faiths", "coins") for v in (1, 2, 3)})})  # fmt: skip
    for rows in (uniform, always, own):
        assert one(rows, "macro_f1").null_value == expected
        classes = [one(rows, f"f1_{c}").null_value or 0.0 for c in CATEGORIES]
        assert np.mean(classes) == pytest.approx(expected)
    with pytest.raises(ValueError, match="not a constant model"):
        constant_rows(study, "null:list-frequency")


def test_null_value_is_computed_over_scored_questions(make_study: MakeStudy, make_score: MakeScore) -> None:
    study, half = make_study(), make_study(domains=["numbers", "coins"])
    rows = rows_of(study, {"a": make_score(study, {k: A[k] for k in ("numbers-1", "coins-1")})})
    macro = one(rows, "macro_f1")
    assert (macro.n_scored, macro.n_unscored) == (2, 2)
    assert macro.null_value == one(constant_rows(half, "null:uniform-by-domain"), "macro_f1").value
    assert one(rows, "f1_HH").unscored_reason == "no scored question has this human category"
    check(rows)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_shuffling_countries_keeps_spectra_and_categories(make_study: MakeStudy, seed: int) -> None:
    study = make_study(seed=seed)
    own = {"a": score_model(study, lambda q: random_answers(study, q, seed))}
    mixed = {"s": score_model(study, lambda q: shuffled(study, random_answers(study, q, seed), q))}
    split = splits(own | mixed, against=own)
    a, s = model_rows(study, own["a"], split["a"]), model_rows(study, mixed["s"], split["s"])
    same = ["effective_rank", "spectral_gap_ratio", "er_high", "sr_high", "macro_f1"]
    same += [f"f1_{c}" for c in CATEGORIES]
    assert [r[:6] for r in a if r.metric in same] == [r[:6] for r in s if r.metric in same]


# --- unscored and degenerate


def test_lost_answers_leave_every_row_unscored(make_study: MakeStudy) -> None:
    study = make_study(variants=[1, 2])
    complete = {(r.metric, r.slice_kind, r.slice) for r in rows_of(
        study, {"a": score_model(study, lambda q: random_answers(study, q, 0))})}  # fmt: skip
    rows = rows_of(study, {"a": score_model(study, lambda q: "lost")})
    check(rows)
    assert not [r for r in rows if r.value is not None]
    assert {(r.metric, r.slice_kind, r.slice) for r in rows} == complete
    assert one(rows, "effective_rank", "coins-1").unscored_reason == "lost"
    assert one(rows, "effective_rank", "coins-1").n_unscored == 5


def test_null_model_without_scored_models_has_no_categories(make_study: MakeStudy) -> None:
    study = make_study()
    own = {"a": score_model(study, lambda q: "lost")}
    lookup = {"null:list-frequency": score_model(study, lambda q: from_list(study, q))}
    split = splits(own | lookup, against=own)
    rows = model_rows(study, lookup["null:list-frequency"], split["null:list-frequency"])
    check(rows)
    assert one(rows, "effective_rank", "coins-1").value is not None
    assert one(rows, "er_high", "coins-1").unscored_reason == "no model has a score to take the medians of"
    assert one(rows, "macro_f1").unscored_reason == "no model has a score to take the medians of"


def test_equal_answers_for_all_countries_are_one_pattern(make_study: MakeStudy) -> None:
    study = make_study(variants=[1, 2])

    def load(q: SpectralQuestion) -> QuestionAnswers:
        answers = random_answers(study, q, 1)
        return (
            QuestionAnswers(answers.logprobs[[0] * 5], answers.n_tokens) if q.domain == "coins" else answers
        )

    rows = rows_of(study, {"a": score_model(study, load)})
    check(rows)
    er, sr = one(rows, "effective_rank", "coins-1"), one(rows, "spectral_gap_ratio", "coins-1")
    assert (er.value, er.null_value) == (1.0, 1.0)
    assert (sr.value, sr.ci_low, sr.ci_high, sr.null_value) == (math.inf, None, None, math.inf)
    assert categories(rows)["coins-1"] == "LH"
    assert one(rows, "competence", "coins/JP").value == pytest.approx(1.0)
    assert one(rows, "paraphrase_agreement", "coins").value is None
    overall = one(rows, "paraphrase_agreement")
    assert (overall.n_scored, overall.n_unscored) == (3, 1)


def test_countries_without_a_common_item_have_no_consensus(make_study: MakeStudy) -> None:
    study = make_study(domains=["coins"], countries=["FR", "GM", "JP"])
    table = np.where(np.eye(3, dtype=bool), 0.0, -np.inf)
    rows = rows_of(
        study, {"a": score_model(study, lambda q: QuestionAnswers(table, np.ones(3, dtype=np.int64)))}
    )
    check(rows)
    assert (one(rows, "competence", "coins/FR").unscored_reason or "").startswith("no single pattern leads")


@settings(max_examples=25, deadline=None)
@given(
    countries=st.sets(st.sampled_from(["FR", "GM", "IT", "JP", "US"]), min_size=2),
    domains=st.sets(st.sampled_from(["numbers", "foods", "faiths", "coins"]), min_size=1),
    variants=st.sets(st.sampled_from([1, 2, 3]), min_size=1),
    max_items=st.sampled_from([None, 2, 3]),
    data=st.data(),
)
def test_rows_are_well_formed_for_any_selection_and_answers(
    make_study: MakeStudy,
    countries: set[str],
    domains: set[str],
    variants: set[int],
    max_items: Any,
    data: Any,
) -> None:
    study = make_study(
        countries=list(countries), domains=list(domains), variants=list(variants), max_items=max_items
    )
    kinds = st.sampled_from(["random", "alike", "uniform", "lost", "nan", "list"])
    kind = {q.question: data.draw(kinds) for q in study.questions}

    def load(q: SpectralQuestion) -> QuestionAnswers | str:
        answers = random_answers(study, q, 7)
        table = answers.logprobs
        return {
            "random": answers,
            "alike": QuestionAnswers(table[[0] * len(table)], answers.n_tokens),
            "uniform": QuestionAnswers(np.zeros_like(table), answers.n_tokens),
            "lost": "lost",
            "nan": QuestionAnswers(np.full_like(table, np.nan), answers.n_tokens),
            "list": from_list(study, q),
        }[kind[q.question]]

    own = {"a": score_model(study, load), "b": score_model(study, lambda q: random_answers(study, q, 9))}
    lookup = {"list": score_model(study, lambda q: from_list(study, q))}
    split = splits(own | lookup, against=own)
    for model, score in (own | lookup).items():
        rows = model_rows(study, score, split[model])
        check(rows)
        assert {r.metric for r in rows} == set(metrics("spectral"))
    for model in ("null:always-LH", "null:uniform-by-domain"):
        check(constant_rows(study, model))
