"""Rows of metric_value: categories, ranks, correlation and reference mass by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.spectral import rows as rows_module
from tasks.evaluations.spectral.read import (
    ModelScore,
    QuestionAnswers,
    from_list,
    score_model,
    score_with_copy,
    shuffled,
)
from tasks.evaluations.spectral.rows import (
    NO_MEDIAN,
    Metric,
    constant_rows,
    er_sr_of,
    model_rows,
    robustness_rows,
    splits,
)
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tasks.metrics.types import CATEGORIES
from tests.evaluations import row_checks
from tests.evaluations.row_checks import metrics, one

MakeStudy = Callable[..., SpectralStudy]
MakeScore = Callable[..., ModelScore]

# ER and SR of four questions. Human: numbers LH, foods HH, faiths LL, coins HL.
# ER's lower median is 2, so coins and foods are high; SR's is 2, so numbers and faiths are.
# Categories: numbers LH (right), coins HL (right), foods HL, faiths LH.
A = {"numbers-1": (1.0, 9.0), "faiths-1": (2.0, 5.0), "foods-1": (3.0, 1.5), "coins-1": (4.0, 2.0)}
B = {"numbers-1": (4.2, 1.1), "faiths-1": (4.3, 1.2), "foods-1": (4.4, 1.3), "coins-1": (4.5, 1.4)}


def rows_of(study: SpectralStudy, models: dict[str, ModelScore], model: str = "a") -> list[Metric]:
    return model_rows(study, models[model], splits(models, models)[model])


def categories(rows: Sequence[Metric]) -> dict[str, str]:
    er, sr = (
        {r.slice: "H" if r.value else "L" for r in rows if r.metric == m} for m in ("er_high", "sr_high")
    )
    return {question: er[question] + sr[question] for question in er}


def well_formed(rows: Sequence[Metric]) -> None:
    """Check every row, and that spectral measures lie in their intervals."""
    row_checks.check(rows)
    for r in rows:
        if r.ci_low is not None and r.metric in ("effective_rank", "spectral_gap_ratio"):
            assert r.ci_low <= r.value <= r.ci_high, r


def random_answers(study: SpectralStudy, q: SpectralQuestion, seed: int) -> QuestionAnswers:
    rng = np.random.default_rng([seed, q.variant, len(q.domain)])
    table = rng.normal(-8, 3, (len(study.countries), len(study.lists[q.item_list].items)))
    return QuestionAnswers(table, np.ones(table.shape[1], dtype=np.int64))


# --- categories by hand


def test_hand_calculation_gives_macro_f1(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study()
    rows = rows_of(study, {"a": make_score(study, A)})
    assert categories(rows) == {"numbers-1": "LH", "coins-1": "HL", "foods-1": "HL", "faiths-1": "LH"}
    # LH: one hit, one false alarm (faiths), so 2*1 / (1 true + 2 named) = 2/3; HL likewise; HH and LL none.
    assert [one(rows, f"f1_{c}").value for c in ("LH", "HL", "HH", "LL")] == pytest.approx(
        [2 / 3, 2 / 3, 0, 0]
    )
    macro = one(rows, "macro_f1")
    assert macro.value == pytest.approx((2 / 3 + 2 / 3 + 0 + 0) / 4)
    assert (macro.n_scored, macro.n_unscored) == (4, 0)
    # Five countries are too few for an interval.
    assert (macro.ci_low, macro.ci_high) == (None, None)


def test_categories_move_with_the_medians_of_the_cohort(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study()
    models = {"a": make_score(study, A), "b": make_score(study, B)}
    # ER pooled: 1 2 3 4 4.2 4.3 4.4 4.5, lower median 4: nothing of A is above it.
    # SR pooled: 1.1 1.2 1.3 1.4 1.5 2 5 9, lower median 1.4: all of A is. So A is LH and B is HL throughout.
    a, b = (rows_of(study, models, m) for m in "ab")
    assert set(categories(a).values()) == {"LH"}
    assert set(categories(b).values()) == {"HL"}
    # F1 of LH: 2*1 / (1 true + 4 named) = 0.4, the mean over four classes 0.1.
    assert (one(a, "f1_LH").value, one(a, "macro_f1").value) == (pytest.approx(0.4), pytest.approx(0.1))
    assert (one(b, "f1_HL").value, one(b, "macro_f1").value) == (pytest.approx(0.4), pytest.approx(0.1))


def test_null_models_use_the_medians_of_real_models(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study()
    own = {"a": make_score(study, A)}
    everyone = own | {"null:b": make_score(study, B)}
    split = splits(everyone, against=own)
    assert categories(model_rows(study, everyone["a"], split["a"])) == categories(rows_of(study, own))
    # ER is at least 4.2, above the median 2; SR is at most 1.4, below it.
    assert set(categories(model_rows(study, everyone["null:b"], split["null:b"])).values()) == {"HL"}


def test_values_that_differ_by_rounding_tie(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study()
    nearly = dict(zip(A, [(2.0 * (1 + i * 1e-14), 3.0) for i in range(4)], strict=True))
    rows = rows_of(study, {"a": make_score(study, nearly)})
    assert set(categories(rows).values()) == {"LL"}
    assert one(rows, "er_sr_correlation").value is None


def test_each_half_sample_is_split_at_its_own_medians(
    make_study: MakeStudy, make_score: MakeScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "MIN_COUNTRIES", 5)
    study = make_study(domains=["numbers", "coins"])
    score = make_score(study, A)
    # In half of the half-samples the two questions swap places.
    score.questions["numbers-1"].er_halves[:10] = 4.0
    score.questions["coins-1"].er_halves[:10] = 1.0
    rows = rows_of(study, {"a": score})
    high = one(rows, "er_high", "coins-1")
    assert (high.value, high.ci_low, high.ci_high) == (1.0, 0.0, 1.0)
    assert one(rows, "macro_f1").value == 1.0
    assert one(rows, "macro_f1").ci_low == 0.0


# --- ranks and correlation by hand


def test_hand_calculation_gives_rank_agreement(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study()
    rows = rows_of(study, {"a": make_score(study, A)})
    # By descending SR: numbers 1, faiths 2, coins 3, foods 4; people: numbers 1, foods 2, faiths 3, coins 4.
    # d = 0, 2, -1, -1: rho = 1 - 6*6 / (4*15) = 0.4. Foods-faiths and foods-coins are discordant: (4-2)/6.
    for where in ("1", "all"):
        assert one(rows, "rank_spearman", where).value == pytest.approx(0.4)
        assert one(rows, "rank_kendall", where).value == pytest.approx(1 / 3)
        assert one(rows, "rank_spearman", where).null_value == 0.0
    # Ranks of ER: 1 2 3 4 for numbers, faiths, foods, coins; of SR: 4 3 1 2.
    # d = -3, -1, 2, 2: rho = 1 - 6*18 / 60 = -0.8.
    assert one(rows, "er_sr_correlation").value == pytest.approx(-0.8)


def test_the_null_of_the_er_sr_correlation_is_the_look_up(
    make_study: MakeStudy, make_score: MakeScore
) -> None:
    study = make_study()
    listed = make_score(study, dict(zip(A, [(1.0, 9.0), (2.0, 8.0), (3.0, 7.0), (4.0, 6.0)], strict=True)))
    assert er_sr_of(listed) == pytest.approx(-1.0)
    own = make_score(study, dict(zip(A, [(1.0, 6.0), (2.0, 7.0), (3.0, 8.0), (4.0, 9.0)], strict=True)))
    rows = model_rows(study, own, splits({"a": own}, {"a": own})["a"], er_sr_of(listed))
    correlation = one(rows, "er_sr_correlation")
    assert (correlation.value, correlation.null_value) == (pytest.approx(1.0), pytest.approx(-1.0))


def test_rank_agreement_averages_the_scored_phrasings(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study(variants=[1, 2, 3])
    right = {"numbers-2": (1.0, 9.0), "foods-2": (1.0, 8.0), "faiths-2": (1.0, 7.0), "coins-2": (1.0, 6.0)}
    two = {"numbers-3": (1.0, 9.0), "foods-3": (1.0, 8.0)}
    rows = rows_of(study, {"a": make_score(study, A | right | two)})
    spearman = [one(rows, "rank_spearman", v) for v in ("1", "2", "3", "all")]
    assert [r.value for r in spearman] == [pytest.approx(0.4), pytest.approx(1), None, pytest.approx(0.7)]
    assert [(r.n_scored, r.n_unscored) for r in spearman] == [(4, 0), (4, 0), (0, 4), (8, 4)]
    assert spearman[2].unscored_reason == "2 domains were scored: fewer than 3 distinct ranks"
    well_formed(rows)


# --- reference mass and competence


def test_hand_calculation_gives_reference_mass(make_study: MakeStudy) -> None:
    study = make_study(domains=["coins", "numbers"], countries=["FR", "GM", "JP"])

    # Items: US dollar, dalasi, euro. France 0.8 on the euro, Gambia 0.2 on the dalasi, Japan has none listed.
    def load(q: SpectralQuestion) -> QuestionAnswers:
        if q.domain == "numbers":
            return from_list(study, q)
        table = np.log([[0.1, 0.1, 0.8], [0.4, 0.2, 0.4], [0.5, 0.3, 0.2]])
        return QuestionAnswers(table, np.ones(3, dtype=np.int64))

    rows = rows_of(study, {"a": score_model(study, load)})
    for name in ("coins", "all"):
        row = one(rows, "reference_mass", name)
        assert row.value == pytest.approx((0.8 + 0.2) / 2)
        # Under another's row: France (0.4 + 0.2)/2, Gambia (0.1 + 0.3)/2.
        assert row.null_value == pytest.approx((0.3 + 0.2) / 2)
        assert (row.n_scored, row.n_unscored) == (2, 1)
    assert one(rows, "reference_mass", "numbers").unscored_reason == (
        "the list has no item of any chosen country"
    )
    well_formed(rows)


# --- null models


def test_constant_models_have_the_macro_f1_of_guessing(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study(variants=[1, 2, 3])
    uniform = constant_rows(study, "null:uniform-by-domain")
    always = constant_rows(study, "null:always-LH")
    well_formed(uniform)
    well_formed(always)
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
    well_formed(rows)


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
    well_formed(rows)
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
    well_formed(rows)
    assert one(rows, "effective_rank", "coins-1").value is not None
    assert one(rows, "er_high", "coins-1").unscored_reason == NO_MEDIAN
    assert one(rows, "macro_f1").unscored_reason == NO_MEDIAN


def test_equal_answers_for_all_countries_are_one_pattern(make_study: MakeStudy) -> None:
    study = make_study(variants=[1, 2])

    def load(q: SpectralQuestion) -> QuestionAnswers:
        answers = random_answers(study, q, 1)
        return (
            QuestionAnswers(answers.logprobs[[0] * 5], answers.n_tokens) if q.domain == "coins" else answers
        )

    rows = rows_of(study, {"a": score_model(study, load)})
    well_formed(rows)
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
    well_formed(rows)
    assert (one(rows, "competence", "coins/FR").unscored_reason or "").startswith("no single pattern leads")


OF_OTHER_RUNS = {
    "answers_on_list", "language_agreement", "language_agreement_p", "er_agreement", "order_agreement",
    "own_language_advantage", "own_language_p",
}  # fmt: skip
"""Metrics of written answers and of several languages."""


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

    own = {
        "a": score_with_copy(study, load)[0],
        "b": score_with_copy(study, lambda q: random_answers(study, q, 9))[0],
    }
    lookup = {"list": score_model(study, lambda q: from_list(study, q))}
    split = splits(own | lookup, against=own)
    for model, score in (own | lookup).items():
        panel = robustness_rows(study, score, {name: each.panel for name, each in own.items()})
        rows = [*model_rows(study, score, split[model]), *panel]
        well_formed(rows)
        assert {r.metric for r in rows} == set(metrics("spectral")) - OF_OTHER_RUNS
    for model in ("null:always-LH", "null:uniform-by-domain"):
        well_formed(constant_rows(study, model))
