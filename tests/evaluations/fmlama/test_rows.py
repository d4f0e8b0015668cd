"""Rows of metric_value: every number by hand, and a row with the reason for every missing number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from tasks.evaluations.fmlama.read import Cosines, ProbeScore, ScoreTables, common_ingredients
from tasks.evaluations.fmlama.rows import ALONE, NO_ERROR, ONE_TEMPLATE, best_baseline, model_rows
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template
from tasks.loop.rows import Metric
from tasks.metrics.similarity import cosine_matrix
from tasks.metrics.types import FloatArray
from tests.evaluations.fmlama.conftest import (
    DISHES,
    MEXICAN,
    MakeStudy,
    ScoresOf,
    any_answers,
    dish_rows,
    one,
    ranked,
)
from tests.evaluations.fmlama.rankings import PLAIN, WITH_COUNTRY
from tests.evaluations.row_checks import check, keys, metrics

VECTORS = cosine_matrix([[1, 0], [0, 1], [0.6, 0.8], [0, 0]])  # vectors of cheese, flour, rice; salt has none
EVERYTHING: dict[str, Any] = {
    "languages": ["en", "zh"], "mention_country": "both", "code_switching": True,
}  # fmt: skip


def rows_of(study: FmlamaStudy, scores: Sequence[ProbeScore], scores_of: ScoresOf) -> list[Metric]:
    """Return the model's rows, against the two baselines."""
    nulls = [scores_of(study, common_ingredients(study, home)) for home in (False, True)]
    rows = model_rows(study, scores, best_baseline(nulls))
    check(rows)
    return rows


@pytest.fixture(scope="module")
def both_rows(make_study: MakeStudy, scores_of: ScoresOf) -> list[Metric]:
    """The model of ``rankings``, with and without the country."""
    study = make_study(mention_country="both")
    cosines = {p.condition.slug: VECTORS for p in study.probes}
    return rows_of(study, scores_of(study, ranked(PLAIN | WITH_COUNTRY), cosines), scores_of)


# --- numbers by hand


def test_hand_calculation_gives_map(both_rows: list[Metric]) -> None:
    row = one(both_rows, "map")
    assert row.value == pytest.approx(35 / 48)
    assert (row.n_scored, row.n_unscored) == (8, 0)
    assert row.null_value == pytest.approx((49 / 72 + 25 / 48) / 2)
    assert row.ci_low is None  # four dishes are too few
    # The templates' 3/4 and 17/24: with two values the standard deviation is their difference over root 2.
    assert one(both_rows, "map_sd").value == pytest.approx((3 / 4 - 17 / 24) / sqrt(2))
    assert one(both_rows, "map", "en:en:no:t-en-1").value == pytest.approx(3 / 4)
    assert one(both_rows, "map", "en:en:no:t-en-2").value == pytest.approx(17 / 24)
    # Italy: pizza 19/24 and pasta 18/24; its templates have 3/4 and 19/24.
    assert one(both_rows, "map", "en:en:no:Italy").value == pytest.approx(37 / 48)
    assert one(both_rows, "map_sd", "en:en:no:Italy").value == pytest.approx((19 / 24 - 3 / 4) / sqrt(2))
    assert one(both_rows, "map", "en:en:no:Japan").value == pytest.approx(33 / 48)
    assert one(both_rows, "map", "en:en:yes").value == pytest.approx(3 / 4)


def test_hand_calculation_gives_mws(both_rows: list[Metric]) -> None:
    # t-en-1: (1 + 0 + 1 + 1)/4; t-en-2: (0.9 + 1 + 0.6 + 1)/4.
    row = one(both_rows, "mws")
    assert row.value == pytest.approx((0.75 + 0.875) / 2)
    assert (row.n_scored, row.n_unscored) == (8, 0)
    assert one(both_rows, "mws_sd").value == pytest.approx(0.125 / sqrt(2))
    assert one(both_rows, "mws", "en:en:no:Italy").value == pytest.approx((0.95 + 0.5) / 2)
    # pasta and sushi name one of four at random: of three with a vector, to flour (0, 1, 0.8)/3 and to rice
    # (0.6, 0.8, 1)/3. pizza and onigiri name a pair of six:
    # cheese: 1 in three pairs, with rice of {flour, rice} and {rice, salt} 0.6, with {flour, salt} 0: 4.2/6.
    # flour: 1 in three, {cheese, rice} and {rice, salt} 0.8, {cheese, salt} 0: 4.6/6. pizza: 4.4/6.
    # rice: 1 in three, {cheese, flour} and {flour, salt} 0.8, {cheese, salt} 0.6: 5.2/6; salt is unscored.
    chance = (4.4 / 6 + 1.8 / 3 + 2.4 / 3 + 5.2 / 6) / 4
    assert row.null_value == pytest.approx(chance)


def test_hand_calculation_gives_gain_over_the_best_baseline(both_rows: list[Metric]) -> None:
    # The most common ingredients of the origin have (31/36 + 3/4)/2 = 29/36, more than chance's 173/288.
    row = one(both_rows, "map_gain")
    assert row.value == pytest.approx(35 / 48 - 29 / 36)
    assert row.null_value == 0.0


def test_hand_calculation_gives_country_gain(both_rows: list[Metric]) -> None:
    # pizza 5/24, pasta -6/24, sushi -3/24, onigiri 6/24.
    assert one(both_rows, "country_gain", "en:en:yes").value == pytest.approx(2 / 96)
    assert one(both_rows, "country_gain", "en:en:yes:Italy").value == pytest.approx(-1 / 48)
    assert one(both_rows, "country_gain", "en:en:yes:Japan").value == pytest.approx(3 / 48)
    assert one(both_rows, "country_gain", "en:en:yes").null_value == 0.0
    reason = one(both_rows, "country_gain_p", "en:en:yes").unscored_reason
    assert reason == "4 dishes are too few for a test"
    assert not [r for r in both_rows if r.metric.startswith("country_gain") and ":no" in r.slice]


def test_hand_calculation_gives_p_values(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    dishes = {
        f"Q{i:02}": (("Italy", "Japan")[i // 7], f"d{i}", "salt rice", f"菜{i}", "盐") for i in range(14)
    }
    study = make_study(dish_rows(dishes), mention_country="both")
    plain, country = scores_of(study, any_answers)
    plain = replace(plain, ap=np.full((2, 14), 0.5))
    # All of Italy's dishes gain, by different amounts; all of Japan's except the first.
    gains = np.array([1, 2, 3, 4, 5, 6, 7, -1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]) / 100
    country = replace(country, ap=np.tile(0.5 + gains, (2, 1)))
    rows = rows_of(study, [plain, country], scores_of)
    # Of the 2^7 signs, one side has rank sum 0 in 1 and at most 1 in 2: p = 2/128 and 4/128; Holm: 2 * 2/128,
    # then the larger of that and 4/128.
    assert one(rows, "country_gain_p", "en:en:yes:Italy").value == pytest.approx(4 / 128)
    assert one(rows, "country_gain_p", "en:en:yes:Japan").value == pytest.approx(4 / 128)
    # All 14: the loss has rank 2, and {}, {1}, {2} are as extreme: 2 * 3/2^14.
    assert one(rows, "country_gain_p", "en:en:yes").value == pytest.approx(6 / 2**14)
    assert one(rows, "country_gain_p", "en:en:yes").n_scored == 14


def test_hand_calculation_gives_errors(both_rows: list[Metric]) -> None:
    # One error a dish: pizza's rice, sushi's cheese and onigiri's flour are foreign, pasta's cheese is not.
    row = one(both_rows, "error_foreign")
    assert row.value == pytest.approx(3 / 4)
    assert (row.n_scored, row.n_unscored) == (4, 0)
    # Wrong and foreign: pizza 2 of 2, pasta rice and salt of 3, sushi cheese and flour of 3, onigiri 2 of 2.
    assert row.null_value == pytest.approx((1 + 2 / 3 + 2 / 3 + 1) / 4)
    assert one(both_rows, "error_foreign", "en:en:no:Italy").value == pytest.approx(1 / 2)
    assert one(both_rows, "error_inconsistency").unscored_reason == "no dish has errors under two templates"
    # With the country pasta has rice twice (0), sushi salt and then flour (1), the others nothing.
    row = one(both_rows, "error_inconsistency", "en:en:yes")
    assert row.value == pytest.approx(1 / 2)
    assert (row.n_scored, row.n_unscored) == (2, 2)


def test_overall_rows_are_means_over_conditions(both_rows: list[Metric]) -> None:
    row = one(both_rows, "map", "all")
    assert row.value == pytest.approx((35 / 48 + 3 / 4) / 2)
    assert (row.n_scored, row.n_unscored) == (4, 0)  # dishes: each is one resampled unit
    gain = one(both_rows, "map_gain", "all")
    assert gain.value == pytest.approx((35 / 48 + 3 / 4) / 2 - 29 / 36)


def test_hand_calculation_gives_spread_over_origins(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study(dish_rows(DISHES | {"Q5": MEXICAN}))
    rankings = {t: of | {"quesadilla": f"{first} salt flour"} for (t, of), first in
                zip(PLAIN.items(), ("cheese rice", "rice cheese"), strict=True)}  # fmt: skip
    rows = rows_of(study, scores_of(study, ranked(rankings), {"en:en:no": VECTORS}), scores_of)
    # Italy 37/48, Japan 33/48, Mexico (1 + 1/2)/2 = 36/48: mean 106/3, deviations 5/3, -7/3 and 2/3, squares
    # 78/9 in sum, so the variance is 39/9.
    row = one(rows, "map_cv")
    assert row.value == pytest.approx(sqrt(39 / 9) / (106 / 3))
    assert (row.n_scored, row.n_unscored, row.null_value) == (3, 0, None)
    # Dishes 2, 2, 1: deviations 1/3, 1/3, -2/3. r = (5 - 7 - 4)/9 / sqrt(78/9 * 6/9).
    assert one(rows, "map_count_correlation").value == pytest.approx(-6 / sqrt(78 * 6))
    # mWS: Italy 0.725, Japan 0.9, Mexico (1 + 0.6)/2.
    expected = np.corrcoef([37, 33, 36], [0.725, 0.9, 0.8])[0, 1]
    assert one(rows, "map_mws_correlation").value == pytest.approx(expected)
    expected = np.corrcoef([2, 2, 1], [0.725, 0.9, 0.8])[0, 1]
    assert one(rows, "mws_count_correlation").value == pytest.approx(expected)
    assert one(rows, "map_mws_correlation").null_value == 0.0
    assert one(rows, "map_mws_correlation").ci_low is None  # few dishes of each origin


@pytest.mark.parametrize("dishes", [9, 10])
def test_spreads_have_points_from_ten_dishes(make_study: MakeStudy, scores_of: ScoresOf, dishes: int) -> None:
    many = {f"Q{i}": ["Q1", "Q4", "Q5"][i % 3] for i in range(3 * dishes)}
    of = DISHES | {"Q5": MEXICAN}
    study = make_study(dish_rows({name: of[like] for name, like in many.items()}))
    points = one(rows_of(study, scores_of(study, any_answers), scores_of), "map_cv", "all").points
    assert (points is not None) == (dishes == 10)


def test_only_dish_of_an_origin_has_no_foreign_error(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study(dish_rows(DISHES | {"Q5": MEXICAN}))
    rankings = {t: of | {"quesadilla": "rice cheese salt flour"} for t, of in PLAIN.items()}
    rows = rows_of(study, scores_of(study, ranked(rankings)), scores_of)
    assert one(rows, "error_foreign").value == pytest.approx(3 / 4)  # as without this dish
    assert one(rows, "error_foreign").n_unscored == 1
    alone = one(rows, "error_foreign", "en:en:no:Mexico")
    assert alone.unscored_reason == ALONE
    assert (alone.null_value, alone.n_unscored) == (None, 1)
    assert one(rows, "error_inconsistency", "en:en:no:Mexico").value == 0.0


def test_perfect_model_leaves_errors_unscored(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    def knows(probe: Probe, template: Template) -> FloatArray:
        return probe.relevant.astype(np.float64)

    study = make_study()
    rows = rows_of(study, scores_of(study, knows), scores_of)
    assert one(rows, "map").value == 1.0
    assert one(rows, "map_sd").value == 0.0
    assert one(rows, "error_foreign").unscored_reason == NO_ERROR
    assert one(rows, "error_foreign").null_value == pytest.approx(5 / 6)
    assert one(rows, "unspellable_candidates").value == 0.0


# --- unscored, with a reason


def without_template(name: str) -> ScoreTables:
    return lambda p, t: "no answer came" if t.template == name else any_answers(p, t)


def without_condition(slug: str) -> ScoreTables:
    return lambda p, t: "no answer came" if p.condition.slug == slug else any_answers(p, t)


@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize(
    "answers",
    [
        lambda probe, template: "no answer came",
        without_template("t-en-1"),
        without_condition("en:en:no"),
        without_condition("zh:zh:yes"),
        without_condition("en:zh:no"),
    ],
)
def test_missing_answers_change_neither_keys_nor_chance(
    make_study: MakeStudy, scores_of: ScoresOf, answers: ScoreTables, has_vectors: bool
) -> None:
    study = make_study(dish_rows(DISHES | {"Q5": MEXICAN}), **EVERYTHING)
    vectors: Cosines = {
        p.condition.slug: VECTORS if has_vectors and p.condition.main == "en" else "no word vectors"
        for p in study.probes
    }
    whole = rows_of(study, scores_of(study, any_answers, vectors), scores_of)
    partial = rows_of(study, scores_of(study, answers, vectors), scores_of)
    assert keys(partial) == keys(whole)
    assert {r.metric for r in whole} == set(metrics("fmlama")) - {"mes", "mes_maybe", "judge_gold_accepted"}
    # The score expected by chance does not depend on the model.
    chance = {(r.metric, r.slice): r.null_value for r in whole if r.metric in ("map", "mws")}
    assert {(r.metric, r.slice): r.null_value for r in partial if r.metric in ("map", "mws")} == chance


def test_missing_condition_has_a_reason_in_its_rows(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study(mention_country="both")
    rows = rows_of(study, scores_of(study, without_condition("en:en:no")), scores_of)
    assert one(rows, "map").unscored_reason == "no answer came"
    assert one(rows, "map").n_unscored == 8
    assert one(rows, "error_foreign").n_unscored == 4
    for where in ("en:en:yes", "en:en:yes:Italy"):
        reason = one(rows, "country_gain", where).unscored_reason
        assert reason == "one of the two conditions has no answers"
    assert one(rows, "mws", "all").unscored_reason == "no answer came"
    assert one(rows, "map", "all").value == one(rows, "map", "en:en:yes").value


def test_missing_template_leaves_the_others_scored(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study()
    rows = rows_of(study, scores_of(study, ranked({"t-en-2": PLAIN["t-en-2"]})), scores_of)
    assert one(rows, "map").value == pytest.approx(17 / 24)
    assert (one(rows, "map").n_scored, one(rows, "map").n_unscored) == (4, 4)
    assert one(rows, "map_sd").unscored_reason == ONE_TEMPLATE
    assert one(rows, "map", "en:en:no:t-en-1").unscored_reason == "no answer came"


def test_mws_without_vectors_is_unscored_with_the_reason(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study()
    nothing = np.full((4, 4), np.nan)
    for vectors, reason in (
        ("no word vectors for 'en'", "no word vectors for 'en'"),
        (nothing, "no dish has an ingredient and a prediction with a word vector"),
    ):
        rows = rows_of(study, scores_of(study, any_answers, {"en:en:no": vectors}), scores_of)
        assert {r.unscored_reason for r in rows if r.metric in ("mws", "mws_sd")} == {reason}


def test_spreads_and_correlations_need_three_scored_origins(
    make_study: MakeStudy, scores_of: ScoresOf, both_rows: list[Metric]
) -> None:
    study = make_study(dish_rows(DISHES | {"Q5": MEXICAN}))
    only_rice = np.full((4, 4), np.nan)
    only_rice[2, 2] = 1.0  # then no dish of Italy or Mexico is scored
    rows = rows_of(study, scores_of(study, any_answers, {"en:en:no": only_rice}), scores_of)
    assert one(rows, "map_mws_correlation").unscored_reason == "1 origins have a score, 3 are needed"
    assert one(rows, "map_cv").value is not None
    for metric in ("map_cv", "map_mws_correlation", "map_count_correlation", "mws_count_correlation"):
        assert one(both_rows, metric).unscored_reason == "2 origins, 3 are needed"
