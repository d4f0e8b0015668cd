"""Which ratings count for a rectified mean, by rule, and what makes a sample drawn."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tasks.judging.audit import JudgedAnswer, population_of, random_sample
from tasks.judging.rectify import JudgedPart, Label, judged_sample, labels_of
from tasks.metrics.ppi import rectified_mean

CODES = [f"a{n}" for n in range(4)]
POPULATION = population_of(CODES)
POINTS = {f"i{n}": (0.5, "c") for n in range(4)}


def parts(score: float = 0.5) -> list[JudgedPart]:
    return [JudgedPart(code, f"i{n}", score, "s", "", float) for n, code in enumerate(CODES)]


def label(code: str = "a0", rating: float = 1.0, study: str = "one", **fields: object) -> Label:
    known = {"stratum": "s", "chance": 0.5, "population": POPULATION} | fields
    return Label(code, "p001", rating, study, **known)  # type: ignore[arg-type]


RULES: dict[str, tuple[list[Label], list[float], float]] = {
    "drawn": ([label()], [1.0], 0.25),
    "drawn by two studies": ([label(), label(study="two")], [1.0], 0.25),
    "drawn by one of two studies": ([label(), label("a1", 0.0, "two")], [1.0, 0.0], 0.5),
    "two people": ([label(), label(rating=0.0)._replace(annotator="p002")], [0.5], 0.25),
    "old study": ([label(chance=None, population=None)], [1.0], math.nan),
    "of other answers": ([label(population="other")], [1.0], math.nan),
    "of another stratum": ([label(stratum="t")], [1.0], math.nan),
    "drawn beside old": ([label(), label("a1", study="old", chance=None)], [1.0], 0.25),
    "drawn, and rated in an old study": ([label(), label(rating=0.0, study="old", chance=None)], [1.0], 0.25),
    "another model's or older words": ([label("b0")], [], math.nan),
}
"""Ratings -> the labels that count, in order, and every answer's chance: the rated share of its stratum."""


@pytest.mark.parametrize("rule", RULES)
def test_rules_of_ratings(rule: str) -> None:
    ratings, expected, chance = RULES[rule]
    sample = judged_sample(parts(), POINTS, labels_of(ratings), {"s": POPULATION}, 0.0)
    assert sample.labels[sample.known].tolist() == expected
    np.testing.assert_allclose(sample.chances, np.full(4, chance))


def test_answers_that_are_rated_stand_for_their_stratum_however_few_of_those_drawn_are_rated() -> None:
    """All of stratum s is rated, and one answer of six of t; people like those of s alone."""
    own = [JudgedPart(f"a{n}", f"i{n}", 0.5, "s" if n < 6 else "t", "", float) for n in range(12)]
    ratings = [label(f"a{n}", float(n < 6), stratum="s" if n < 6 else "t") for n in range(7)]
    populations = {"s": POPULATION, "t": POPULATION}
    points = {part.unit: (part.score, part.unit) for part in own}
    assert rectified_mean(
        judged_sample(own, points, labels_of(ratings), populations, 0.0)
    ).value == pytest.approx(0.5)
    without = judged_sample(own, points, labels_of(ratings[:6]), populations, 0.0)
    assert (
        rectified_mean(without).reason
        == "nobody rated a drawn answer of some dimension, so there is no interval"
    )


def test_lost_answers_are_fixed_and_other_verdicts_than_the_stored_are_refused() -> None:
    labels, populations = labels_of([label()]), {"s": POPULATION}
    lost = judged_sample(parts(), {**POINTS, "i3": (0.0, "c"), "lost": (0.0, "c")}, labels, populations, 0.0)
    assert lost.fixed[~np.isnan(lost.fixed)].tolist() == [0.0, 0.0]
    assert lost.scores.size == 3
    with pytest.raises(ValueError, match="do not give the values"):
        judged_sample(parts(0.6), POINTS, labels, populations, 0.0)


def test_a_new_rating_has_a_new_hash_and_the_order_has_none() -> None:
    ratings = [label(), label("a1")]
    assert labels_of(ratings).hash == labels_of(ratings[::-1]).hash
    assert labels_of(ratings).hash != labels_of([*ratings, label("a2")]).hash
    assert labels_of(ratings).hash != labels_of([label(), label("a1", 0.0)]).hash


def strata() -> dict[str, list[JudgedAnswer]]:
    sizes = {"big": 40, "small": 10}
    return {
        name: [JudgedAnswer("m", name, f"i{n}", "g", "q", "a") for n in range(size)]
        for name, size in sizes.items()
    }


def test_every_answer_of_a_stratum_has_the_chance_that_is_stored() -> None:
    draws = [random_sample(strata(), 10, seed) for seed in range(600)]
    times = Counter((each.stratum, each.answer.item) for draw in draws for each in draw)
    assert {(each.stratum, each.chance) for each in draws[0]} == {("big", 0.2), ("small", 0.2)}
    shares = np.array([times[name, answer.item] / 600 for name, own in strata().items() for answer in own])
    assert abs(shares.mean() - 0.2) < 1e-9
    assert np.abs(shares - 0.2).max() < 4 * math.sqrt(0.16 / 600)


def test_a_larger_sample_adds_answers_and_a_small_one_is_refused() -> None:
    few, many = (random_sample(strata(), n, 1) for n in (5, 20))
    assert {each.answer.code for each in few} < {each.answer.code for each in many}
    with pytest.raises(ValueError, match="ask for at least 2"):
        random_sample(strata(), 1, 1)
