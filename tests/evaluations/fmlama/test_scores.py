"""Precision, similarity and errors of every dish from candidate scores, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.fmlama.params import POOLINGS
from tasks.evaluations.fmlama.read import (
    common_ingredients,
    expectations,
    judged_dishes,
    pooled,
    prediction_rows,
    score_model,
)
from tasks.evaluations.fmlama.rows import best_baseline, model_rows
from tasks.metrics.ranking import average_precision
from tests.evaluations.fmlama.conftest import MakeStudy, ScoresOf, any_answers, ranked
from tests.evaluations.fmlama.rankings import PLAIN


# cheese . flour = 0, cheese . rice = 0.6, flour . rice = 0.8; salt has no vector.
def test_unspellable_candidates_rank_last_and_are_counted(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    without = {
        dish: " ".join(c for c in order.split() if c != "cheese") for dish, order in PLAIN["t-en-1"].items()
    }
    (score,) = scores_of(make_study(), ranked({"t-en-1": without}))
    assert score.n_unspellable == 1
    # pizza: flour, rice, salt, cheese: (1/1 + 2/4)/2; pasta: flour first.
    # onigiri: flour, rice, salt: (1/2 + 2/3)/2.
    assert score.ap[0] == pytest.approx([3 / 4, 1, 1, 7 / 12])
    both = {dish: order.split(maxsplit=1)[0] for dish, order in PLAIN["t-en-1"].items()}
    (worse,) = scores_of(make_study(), ranked({"t-en-1": both}))
    # For each dish three candidates are tied last, so each of the four is unspellable for some dish.
    assert worse.n_unspellable == 4
    # pizza: cheese, then flour at 2, 3 or 4 alike: (1 + (1 + 2/3 + 2/4)/3)/2 = 31/36.
    assert worse.ap[0][0] == pytest.approx(31 / 36)


def test_hand_calculation_gives_baselines(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study()
    (everywhere,) = scores_of(study, common_ingredients(study, False))
    # Of the other three dishes, pizza: rice 2, flour and salt 1, cheese 0. Flour is 2nd or 3rd, first found:
    # (1/2 + 1/3)/2 = 5/12; cheese 4th: 2/4. AP = (5/12 + 6/12)/2 = 11/24; onigiri likewise.
    # pasta: rice 2, the others 1, so flour is 2nd, 3rd or 4th: (1/2 + 1/3 + 1/4)/3 = 13/36; sushi likewise.
    assert everywhere.ap[0] == pytest.approx([11 / 24, 13 / 36, 13 / 36, 11 / 24])
    (at_home,) = scores_of(study, common_ingredients(study, True))
    # pizza: flour first, cheese 2nd, 3rd or 4th: (1 + (2/2 + 2/3 + 2/4)/3)/2 = 31/36; onigiri likewise.
    # pasta: cheese and flour tied: (1 + 1/2)/2 = 3/4; sushi likewise.
    assert at_home.ap[0] == pytest.approx([31 / 36, 3 / 4, 3 / 4, 31 / 36])
    # Means: chance 173/288, 59/144 everywhere, 29/36 at home.
    best = best_baseline([[everywhere], [at_home]])
    assert best["en:en:no"] == pytest.approx(at_home.ap[0])
    assert best_baseline([[everywhere]])["en:en:no"] == pytest.approx(everywhere.expected.ap)


def test_hand_calculation_gives_pooling_of_token_log_probabilities() -> None:
    logprob, probability = np.float32([-1, -6]), np.float32([0.4, 0.1])
    n_tokens = np.array([1, 3])
    assert pooled(logprob, probability, n_tokens, "mean_probability") == pytest.approx([0.4, 0.1])
    assert pooled(logprob, probability, n_tokens, "sum_logprob").tolist() == [-1, -6]
    assert pooled(logprob, probability, n_tokens, "mean_logprob").tolist() == [-1, -2]
    with pytest.raises(ValueError, match="median"):
        pooled(logprob, probability, n_tokens, "median")


# --- predictions


def test_judged_predictions_are_of_the_first_template(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    study = make_study(judges=["fake"], judged_dishes_per_origin=1)
    probe = study.judged_probe
    table = ranked(PLAIN)(probe, probe.templates[0])
    assert not isinstance(table, str)
    (score,) = scores_of(study, ranked(PLAIN))
    stored = prediction_rows([score]).filter(template="t-en-1").group_by("dish", maintain_order=True)
    by_dish = {str(url): tuple(frame["candidate"]) for (url,), frame in stored}
    seen = judged_dishes(probe, table)
    assert len(seen) == 2
    for dish, judged in zip(probe.dishes, seen, strict=True):
        assert (judged.url, judged.origin, judged.reference) == (dish.url, dish.group, dish.ingredients)
        assert judged.predicted == by_dish[dish.url]


def test_predictions_have_ranks_and_outcomes_by_hand(make_study: MakeStudy, scores_of: ScoresOf) -> None:
    frame = prediction_rows(scores_of(make_study(), ranked(PLAIN)))
    rows = frame.select("template", "dish_name", "rank", "candidate", "outcome").rows()
    assert rows == [
        # As many as the dish has ingredients. At home in Italy are, but for the dish itself, pizza: flour;
        # pasta: cheese, flour; in Japan sushi: rice, salt; onigiri: rice.
        ("t-en-1", "pizza", 1, "cheese", "correct"),
        ("t-en-1", "pizza", 2, "flour", "correct"),
        ("t-en-1", "pasta", 1, "cheese", "local"),
        ("t-en-1", "sushi", 1, "rice", "correct"),
        ("t-en-1", "onigiri", 1, "flour", "foreign"),
        ("t-en-1", "onigiri", 2, "rice", "correct"),
        ("t-en-2", "pizza", 1, "rice", "foreign"),
        ("t-en-2", "pizza", 2, "cheese", "correct"),
        ("t-en-2", "pasta", 1, "flour", "correct"),
        ("t-en-2", "sushi", 1, "cheese", "foreign"),
        ("t-en-2", "onigiri", 1, "rice", "correct"),
        ("t-en-2", "onigiri", 2, "salt", "correct"),
    ]
    assert set(frame["condition"]) == {"en:en:no"}
    study = make_study(languages=["en", "zh"], mention_country="both", code_switching=True)
    several = prediction_rows(scores_of(study, any_answers))
    # Six ingredients in all, two templates.
    assert dict(several.group_by("condition").len().rows()) == {p.condition.slug: 12 for p in study.probes}
    assert not several.select("condition", "template", "dish", "rank").is_duplicated().any()
    assert prediction_rows([]).is_empty()
    assert frame.filter(dish="Q4")["origin"].unique().to_list() == ["Japan"]


def test_each_pooling_has_rows_and_the_chosen_one_is_the_headline(make_study: MakeStudy) -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    study = make_study(pooling="mean_logprob")
    (probe,) = study.probes
    shape = (len(probe.dishes), len(probe.candidates))
    tables = {t.template: {name: rng.random(shape) for name in POOLINGS} for t in probe.templates}
    cosines = {probe.condition.slug: "no vectors"}
    expected = {probe.condition.slug: expectations(probe, cosines)}
    scores = score_model(study, expected, lambda _, template: tables[template.template], cosines)
    rows = model_rows(study, scores, {probe.condition.slug: np.zeros(len(probe.dishes))})
    by_pooling = {
        r.slice.split(":")[-1]: r for r in rows if (r.metric, r.slice_kind) == ("map", "condition_pooling")
    }
    assert set(by_pooling) == set(POOLINGS)
    assert len({row.value for row in by_pooling.values()}) == 3
    (headline,) = [r for r in rows if (r.metric, r.slice_kind) == ("map", "condition")]
    assert headline.value == pytest.approx(by_pooling["mean_logprob"].value)
    for name, row in by_pooling.items():
        by_hand = [average_precision(tables[t.template][name], probe.relevant) for t in probe.templates]
        assert row.value == pytest.approx(np.mean(by_hand))
