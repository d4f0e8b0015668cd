"""People and judge by hand, and the judge against scipy and scikit-learn."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.calibration import calibration_curve  # type: ignore[import-untyped]
from sklearn.metrics import brier_score_loss, cohen_kappa_score  # type: ignore[import-untyped]

from tasks.judging.audit import Rating
from tasks.judging.validation import (
    JudgeAgreementRow,
    JudgeScore,
    RatedItem,
    judge_agreement,
    people_agreement,
    reliability_curves,
)

SCALE = [0.0, 0.25, 0.5, 0.75, 1.0]


def rating(item: str, annotator: str, value: float, dimension: str = "coverage") -> Rating:
    return Rating.model_validate(
        {"item": item, "annotator": annotator, "dimension": dimension, "rating": str(value)}
    )


def study(seed: int, n: int = 60) -> tuple[list[Rating], list[JudgeScore]]:
    """Return ratings of three annotators and a judge: one truth plus noise; a tenth of them is missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, n)
    ratings, judged = [], []
    for number, level in enumerate(truth):
        name = f"a{number:03}"
        for annotator in ("ana", "ben", "eva"):
            if rng.random() > 0.1:
                seen = int(np.clip(level + rng.integers(-1, 2), 0, 4))
                ratings.append(rating(name, annotator, SCALE[seen]))
        judged_level = int(np.clip(level + rng.integers(-1, 2), 0, 4))
        graded = float(np.clip(SCALE[judged_level] + rng.normal(0, 0.1), 0, 1))
        judged.append(JudgeScore(name, "coverage", SCALE[judged_level], graded))
    return ratings, judged


def by_metric(rows: list[JudgeAgreementRow]) -> dict[str, JudgeAgreementRow]:
    assert len({row.metric for row in rows}) == len(rows)
    return {row.metric: row for row in rows}


def people(ratings: list[Rating]) -> dict[str, list[float]]:
    by_item: dict[str, list[float]] = {}
    for r in ratings:
        by_item.setdefault(r.item, []).append(r.rating)
    return by_item


# --- people


def test_hand_calculation_gives_agreement_of_people() -> None:
    # 0 0, 1 1, 0 1, and an item with one rating, which is left out: 1 - 5 * 2 / 18 (test_krippendorff_alpha).
    table = {"a1": (0, 0), "a2": (1, 1), "a3": (0, 1), "a4": (1,)}
    ratings = [rating(item, "xy"[n], r) for item, scores in table.items() for n, r in enumerate(scores)]
    rows = by_metric(people_agreement(ratings))
    assert list(rows) == ["alpha_nominal", "alpha_ordinal", "alpha_interval"]
    for row in rows.values():
        assert row.value == pytest.approx(4 / 9)
        assert (row.dimension, row.unscored_reason) == ("coverage", None)
        assert (row.n, row.n_dropped) == (3, 1)


def test_a_missing_alpha_has_a_reason() -> None:
    two = [rating(item, name, 1) for item in ("a1", "a2") for name in "xy"]
    alone = [rating(f"b{n}", "x", 1) for n in range(5)]
    row = people_agreement(two + alone)[0]
    assert (row.value, row.unscored_reason, row.n, row.n_dropped) == (None, "2 items, 3 are needed", 2, 5)
    same = [rating(f"a{n}", name, 1) for n in range(4) for name in "xy"]
    row = people_agreement(same)[0]
    assert (row.value, row.unscored_reason, row.ci_low) == (None, "ratings do not vary", None)
    assert people_agreement([]) == []


# --- judge


def test_hand_calculation_gives_agreement_of_the_judge() -> None:
    # People's majorities 1 1 0 0 1 and a tie; the judge's verdicts 1 1 0 1 1 1. Without the tie 4 of 5 agree;
    # by chance 3/5 * 4/5 + 2/5 * 1/5 = 14/25. Kappa (20 - 14) / (25 - 14).
    scores = {
        "a1": (1, 1, 1),
        "a2": (1, 1, 0),
        "a3": (0, 0),
        "a4": (0,),
        "a5": (1, 1),
        "a6": (1, 0),
        "a7": (1,),
    }
    ratings = [rating(item, "xyz"[n], r) for item, of_item in scores.items() for n, r in enumerate(of_item)]
    grades = {"a1": 0.9, "a2": 0.8, "a3": 0.1, "a4": 0.6, "a5": 1.0, "a6": 0.7}
    judged = [JudgeScore(item, "coverage", float(g > 0.5), g) for item, g in grades.items()]
    judged += [JudgeScore("a7", "coverage", None, None), JudgeScore("b1", "coverage", 1.0, 0.9)]
    rows = by_metric(judge_agreement(ratings, judged))
    assert [rows[name].value for name in ("kappa", "kappa_quadratic")] == [pytest.approx(6 / 11)] * 2
    assert (rows["kappa"].n, rows["kappa"].n_dropped) == (5, 2)  # the tie and the unscored a7
    assert (rows["pearson"].n, rows["pearson"].n_dropped) == (6, 1)
    pearson = pearsonr([1, 2 / 3, 0, 0, 1, 0.5], [1, 1, 0, 1, 1, 1]).statistic
    assert rows["pearson"].value == pytest.approx(pearson)
    # (0.1^2 + 0.2^2 + 0.1^2 + 0.6^2 + 0^2) / 5.
    assert rows["brier"].value == pytest.approx(0.42 / 5)
    # Every score has a bin of its own: (0.1 + 0.2 + 0.1 + 0.6 + 0) / 5, but 0.9 and 1.0 are on two sides of
    # the border at 0.9.
    assert rows["calibration_error"].value == pytest.approx(0.2)
    assert rows["calibration_error"].ci_low is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_agreement_of_the_judge_equals_scipy_and_scikit_learn(seed: int) -> None:
    ratings, judged = study(seed)
    rows = by_metric(judge_agreement(ratings, judged))
    means = {item: np.mean(scores).round(12) for item, scores in people(ratings).items()}
    pairs = [(means[j.item], j.value, j.graded) for j in judged if j.item in means]
    mean, value, graded = np.array(pairs, dtype=float).T
    for suffix, scores in (("", value), ("_graded", graded)):
        assert rows[f"pearson{suffix}"].value == pytest.approx(pearsonr(mean, scores).statistic)
        assert rows[f"spearman{suffix}"].value == pytest.approx(spearmanr(mean, scores).statistic)
    modes = {}
    for item, scores in people(ratings).items():
        (first, count), *others = Counter(scores).most_common()
        if not others or others[0][1] < count:
            modes[item] = first
    both = [(SCALE.index(modes[j.item]), SCALE.index(j.value or 0.0)) for j in judged if j.item in modes]
    for metric, weights in (("kappa", None), ("kappa_quadratic", "quadratic")):
        expected = cohen_kappa_score(*zip(*both, strict=True), labels=range(5), weights=weights)
        assert rows[metric].value == pytest.approx(expected)
        assert rows[metric].n == len(both)
    decided = mean != 0.5
    assert rows["brier"].value == pytest.approx(brier_score_loss(mean[decided] > 0.5, graded[decided]))
    for row in rows.values():
        assert row.value is not None
        if row.metric != "calibration_error":
            assert row.ci_low is not None
            assert row.ci_high is not None
            assert row.ci_low < row.value < row.ci_high


def test_reliability_curves_equal_scikit_learn() -> None:
    ratings, judged = study(4)
    means = {item: np.mean(scores).round(12) for item, scores in people(ratings).items()}
    points = [(means[j.item] > 0.5, j.graded) for j in judged if means.get(j.item, 0.5) != 0.5]
    observed, score = calibration_curve(*zip(*points, strict=True), n_bins=10, strategy="uniform")
    curve = reliability_curves(ratings, judged)["coverage"]
    assert [b.observed for b in curve] == pytest.approx(observed)
    assert [b.mean_score for b in curve] == pytest.approx(score)
    assert reliability_curves(ratings, []) == {}


def test_agreement_is_by_dimension_and_ignores_order() -> None:
    ratings, judged = study(5, n=20)
    other, judged_other = study(6, n=20)
    both = ratings + [r.model_copy(update={"dimension": "beauty"}) for r in other]
    judged_both = judged + [JudgeScore(j.item, "Beauty", j.value, j.graded) for j in judged_other]
    rows = judge_agreement(both, judged_both)
    assert [row for row in rows if row.dimension == "coverage"] == judge_agreement(ratings, judged)
    assert [row.dimension for row in rows] == ["beauty"] * 8 + ["coverage"] * 8
    random.Random(0).shuffle(both)
    random.Random(1).shuffle(judged_both)
    assert judge_agreement(both, judged_both) == rows
    assert people_agreement(both) == people_agreement(sorted(both, key=lambda r: r.item))


def test_missing_agreement_of_the_judge_has_a_reason() -> None:
    ratings = [rating(f"a{n}", "x", n % 2) for n in range(6)]
    unjudged = by_metric(judge_agreement(ratings, []))
    assert {row.unscored_reason for row in unjudged.values()} == {"0 items, 3 are needed"}
    assert {(row.value, row.n, row.n_dropped, row.ci_low) for row in unjudged.values()} == {
        (None, 0, 6, None)
    }
    constant = [JudgeScore(f"a{n}", "coverage", 1.0, None) for n in range(6)]
    rows = by_metric(judge_agreement(ratings, constant))
    assert rows["pearson"].unscored_reason == "people's or the judge's scores do not vary"
    assert rows["kappa"].value == 0  # the judge says yes to everything: agreement equals chance
    assert rows["pearson_graded"].n == 0
    # Both say yes to everything.
    agreed = judge_agreement([rating(f"a{n}", "x", 1) for n in range(6)], constant)
    assert by_metric(agreed)["kappa"].unscored_reason == "people's or the judge's scores do not vary"


@pytest.mark.parametrize(
    ("number", "menu", "commonest"),  # None: two verdicts are as near
    [(0.5, [0, 1], None), (0.25, [0, 0.5, 1], None), (0.75, [0, 1], 1), (0.25, [0, 1], 0), (0.25, [], 0.25)],
)
def test_a_rating_off_the_menu_is_the_nearest_verdict(
    number: float, menu: list[float], commonest: float | None
) -> None:
    judge = JudgeScore("q1", "coverage", 1.0)
    assert RatedItem({"ana": rating("q1", "ana", number)}, judge).commonest(menu) == commonest
