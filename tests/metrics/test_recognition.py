from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from tasks.metrics.recognition import Recognition, persona_recognition
from tasks.metrics.stereotypes import bare_words

Words = Callable[[int, int, random.Random], list[str]]
"""The words of a culture's answer to a scenario."""


def recognised(
    say: Words, cultures: int, scenarios: int, repetitions: int = 1, seed: int = 0, permutations: int = 19
) -> Recognition:
    draw = random.Random(seed)
    words, culture, scenario = [], [], []
    for c in range(cultures):
        for s in range(scenarios):
            for _ in range(repetitions):
                words.append(say(c, s, draw))
                culture.append(c)
                scenario.append(s)
    result = persona_recognition(words, np.array(culture), np.array(scenario), permutations, seed)
    assert result is not None
    return result


def varied(culture: int, scenario: int, draw: random.Random) -> list[str]:
    """Return random words, and words of the scenario."""
    return [f"w{draw.randrange(60)}" for _ in range(15)] + [f"of-scenario-{scenario}"] * 2


def cliches(share: float) -> Words:
    """Return texts in which a share of the words are drawn from five fixed words of the culture."""

    def say(culture: int, scenario: int, draw: random.Random) -> list[str]:
        words = varied(culture, scenario, draw)
        return [f"c{culture}-{draw.randrange(5)}" if draw.random() < share else word for word in words]

    return say


def test_hand_calculation_gives_recognition_and_variety() -> None:
    # Two cultures, five scenarios; an answer is a word of its culture and a word of its scenario. A culture's
    # word is in 5 of 10 answers, weight log 2 = a; a scenario's is in 2, weight log 5 = b. Answers of one
    # culture share only its word: cosine a^2 / (a^2 + b^2). Others in two scenarios share no word.
    result = recognised(lambda c, s, _: [f"culture {c}", f"scenario {s}"], 2, 5)
    a, b = math.log(2), math.log(5)
    assert result.value.tolist() == [1.0, 1.0, 1.0]
    assert result.variety.tolist() == pytest.approx([1 - a**2 / (a**2 + b**2)] * 3)
    assert result.between.tolist() == pytest.approx([1.0] * 3)
    assert (result.cultures.tolist(), result.n.tolist()) == ([0, 1], [5, 5])
    # Recognising all in five scenarios still leaves a wide interval.
    overall = result.intervals[0]
    assert overall is not None
    assert overall[0] < 0.5
    assert overall[1] == 1.0


def test_equal_answers_have_recognition_0() -> None:
    result = recognised(lambda c, s, _: ["always", f"scenario {s}"], 3, 6)
    assert result.value.tolist() == pytest.approx([0.0] * 4)
    assert result.p_value == 1.0
    # Words in all answers have weight 0, so without other words no culture can be recognised.
    assert recognised(lambda c, s, _: ["always"], 3, 6).value.tolist() == pytest.approx([0.0] * 4)
    assert recognised(lambda c, s, _: [], 3, 6).variety.tolist() == [1.0] * 4


def test_recognition_rises_with_the_share_of_cliches() -> None:
    results = [recognised(cliches(share), 4, 12, 2) for share in (0.0, 0.05, 0.8)]
    values = [result.value[0] for result in results]
    assert abs(values[0]) < 0.15
    assert values[0] + 0.15 < values[1] < values[2] - 0.15
    assert values[2] > 0.95
    gaps = [result.between[0] - result.variety[0] for result in results]
    assert abs(gaps[0]) < 0.02
    assert gaps[2] > 0.2
    assert results[0].p_value > 0.05 == results[2].p_value


def test_words_of_one_scenario_do_not_raise_recognition() -> None:
    def local(culture: int, scenario: int, draw: random.Random) -> list[str]:
        return [*varied(culture, scenario, draw), *(f"{culture} in {scenario} {i}" for i in range(9))]

    result = recognised(local, 4, 8, 2)
    assert result.intervals[0] is not None
    assert result.intervals[0][0] < 0 < result.intervals[0][1]


def test_recognition_of_unrelated_answers_keeps_level_and_coverage() -> None:
    """A persona's repeated answers to a scenario are similar, but unrelated to those to other scenarios."""

    def alike(culture: int, scenario: int, draw: random.Random) -> list[str]:
        if draw.random() < 0.5:
            draw = random.Random(f"{seed} {culture} {scenario}")
        return varied(culture, scenario, draw)

    results = []
    for seed in range(60):
        results.append(recognised(alike, 3, 6, 2, seed))
    # 1 in 20 by 19 permutations; 9 or more of 60 would have the chance 0.003.
    assert sum(result.p_value <= 0.05 for result in results) < 9
    intervals = [result.intervals[0] for result in results if result.intervals[0]]
    assert sum(low <= 0 <= high for low, high in intervals) >= 0.92 * len(intervals)
    assert abs(np.mean([result.value[0] for result in results])) < 0.04


def test_recognition_does_not_depend_on_order_or_codes() -> None:
    draw = random.Random(1)
    say = cliches(0.1)
    answers = [(say(c, s, draw), c, s) for c in range(3) for s in range(7) for _ in range(2)][:-3]

    def result(code: int) -> Recognition | None:
        words, cultures, scenarios = zip(*answers, strict=True)
        return persona_recognition(words, np.array(cultures) + code, np.array(scenarios) * 2, 9, 0)

    first = result(0)
    draw.shuffle(answers)
    second = result(5)
    assert first is not None
    assert second is not None
    assert second.cultures.tolist() == [5, 6, 7]
    for one, other in zip(first[1:], second[1:], strict=True):
        assert np.array_equal(np.array(one, dtype=object), np.array(other, dtype=object))


def test_few_scenarios_or_one_culture_have_no_recognition() -> None:
    words = [["x"]] * 12
    culture, scenario = np.arange(12) // 6, np.arange(12) % 6
    assert persona_recognition(words, culture, scenario, 1, 0) is not None
    assert persona_recognition(words, culture, scenario // 2, 1, 0) is None  # three scenarios
    assert persona_recognition(words, culture * 0, scenario, 1, 0) is None
    assert persona_recognition([], culture[:0], scenario[:0], 1, 0) is None
    with pytest.raises(ValueError, match="11 answers, 12 cultures and 12 scenarios"):
        persona_recognition(words[1:], culture, scenario, 1, 0)


# --- words without names


def test_bare_words_drop_names_in_every_form() -> None:
    names = ["Japan", "Japanese", "the United States", "US", "U.S.", "Korean", "South Korean", "Türkiye"]
    texts = {
        "In Japan, JAPAN's people – all Japanese.": ["in", "people", "all"],
        "The United States’ way; in the US and the U.S. it": ["way", "in", "the", "and", "the", "it"],
        "They told us": ["they", "told", "us"],
        "South Koreans and Koreans": ["and"],
        "türkiye": [],
        "Japanned wood": ["japanned", "wood"],
    }
    assert bare_words(list(texts), names) == list(texts.values())
    assert bare_words(["In Japan"], []) == [["in", "japan"]]
