"""Rows of metric_value: categories, ranks, correlation and reference mass by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tasks.evaluations.spectral import rows as rows_module
from tasks.evaluations.spectral.read import ModelScore, QuestionAnswers, from_list, score_model
from tasks.evaluations.spectral.rows import model_rows, splits
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tests.evaluations.row_checks import one
from tests.evaluations.spectral.row_checks import A, B, categories, check, rows_of

MakeStudy = Callable[..., SpectralStudy]
MakeScore = Callable[..., ModelScore]

# --- categories by hand


def test_macro_f1_by_hand(make_study: MakeStudy, make_score: MakeScore) -> None:
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
    # ER 4.2 and more is above 2, SR 1.4 and less is not.
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
    # In half of the half-samples the two questions have changed places.
    score.questions["numbers-1"].er_halves[:10] = 4.0
    score.questions["coins-1"].er_halves[:10] = 1.0
    rows = rows_of(study, {"a": score})
    high = one(rows, "er_high", "coins-1")
    assert (high.value, high.ci_low, high.ci_high) == (1.0, 0.0, 1.0)
    assert one(rows, "macro_f1").value == 1.0
    assert one(rows, "macro_f1").ci_low == 0.0


# --- ranks and correlation by hand


def test_rank_agreement_by_hand(make_study: MakeStudy, make_score: MakeScore) -> None:
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


def test_rank_agreement_averages_the_scored_phrasings(make_study: MakeStudy, make_score: MakeScore) -> None:
    study = make_study(variants=[1, 2, 3])
    right = {"numbers-2": (1.0, 9.0), "foods-2": (1.0, 8.0), "faiths-2": (1.0, 7.0), "coins-2": (1.0, 6.0)}
    two = {"numbers-3": (1.0, 9.0), "foods-3": (1.0, 8.0)}
    rows = rows_of(study, {"a": make_score(study, A | right | two)})
    spearman = [one(rows, "rank_spearman", v) for v in ("1", "2", "3", "all")]
    assert [r.value for r in spearman] == [pytest.approx(0.4), pytest.approx(1), None, pytest.approx(0.7)]
    assert [(r.n_scored, r.n_unscored) for r in spearman] == [(4, 0), (4, 0), (0, 4), (8, 4)]
    assert spearman[2].unscored_reason == "2 domains were scored: fewer than 3 distinct ranks"
    check(rows)


# --- reference mass and competence


def test_reference_mass_by_hand(make_study: MakeStudy) -> None:
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
    check(rows)
