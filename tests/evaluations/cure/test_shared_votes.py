"""Null explanations with one text and one norm are one judge call and one observation."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.cure.read import ExplanationJudgeCall
from tasks.evaluations.cure.rows import joined, model_rows
from tasks.metrics.intervals import SHARE, mean_interval
from tests.evaluations.cure.conftest import COUNTRIES, LABELS, MakeStudy, right_answers, row, scored, tables
from tests.evaluations.row_checks import one


def test_items_that_share_a_judge_prompt_form_one_cluster() -> None:
    of_items = np.array(["IN", "IN", "JP", "KE", "MX", "BR"])
    names = joined(of_items, ("a", "b", "b", "", "c", "")).tolist()
    assert names[0] == names[1] == names[2]
    assert len(set(names)) == 4, "India and Japan, and three by themselves: nothing asked joins nothing"
    assert len(set(joined(of_items, [""] * 6))) == 5


def test_nulls_on_three_norms_have_no_interval(make_study: MakeStudy) -> None:
    """Six countries and three norms: so three questions about an empty text, too few for an interval."""

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
    rows = model_rows(study, alone, alone, {"m": "other/Model"})["m"]
    assert one(rows, "coverage", "normad").ci_low is not None
    for name in ("normad:empty", "normad:generic"):
        null = one(rows, "coverage", name)
        assert (null.value, null.n_scored, null.ci_low) == (pytest.approx(0.2), 6, None)


def test_intervals_of_nulls_cover_over_norms() -> None:
    """Marks of 30 norms, each of two countries' items: the norm is what varies."""
    rng, held = np.random.default_rng(0), {"joined": 0, "apart": 0}
    countries = np.array([f"{n:02d}" for n in range(60)])
    questions = [f"norm {n % 30}" for n in range(60)]
    clusters = {"joined": joined(countries, questions), "apart": countries}
    for _ in range(300):
        marks = np.tile(rng.beta(2, 3, 30), 2)
        for name, of_items in clusters.items():
            interval = mean_interval(marks, of_items, SHARE)
            assert interval is not None
            held[name] += interval[0] <= 0.4 <= interval[1]
    assert held["joined"] > 0.92 * 300
    assert held["apart"] < 0.9 * 300
