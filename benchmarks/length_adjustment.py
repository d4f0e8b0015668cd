"""Does any adjustment of a judge's scores for the length of the texts keep the order of models?

``python -m benchmarks.length_adjustment`` prints the table of docs/evaluations/cure.md. Models have a known
quality and write bad explanations shorter than good ones; a judge may also like long texts. An adjustment is
useful if the models' order stays as built and scores come nearer to the quality than the raw ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUALITIES = (0.9, 0.6, 0.3, 0.1)
"""Share of good explanations of each model, best first."""
N_ITEMS, N_RUNS, SEED = 60, 400, 53
WORDS = {"as long": (40.0, 40.0), "bad ones shorter": (40.0, 10.0)}
"""Median words of a good and of a bad explanation."""
BIASES = {"fair": 0.0, "likes length": 0.1}
"""A judge's score for one more log word."""


class Scored(NamedTuple):
    """Scores [models, items] of explanations and of their shuffled twins, with log(1 + words) of both."""

    scores: Floats
    lengths: Floats
    null_scores: Floats
    null_lengths: Floats


def simulated(words: tuple[float, float], bias: float, rng: np.random.Generator) -> Scored:
    """Return one run of all models under one judge; scores are in [0, 1]."""
    shape = (len(QUALITIES), N_ITEMS)
    good = rng.random(shape) < np.array(QUALITIES)[:, None]
    lengths = np.log(np.where(good, *words)) + rng.normal(0, 0.4, shape)
    null_lengths = rng.permuted(lengths, axis=1)

    def judged(right: NDArray[np.bool_], of: Floats) -> Floats:
        values = 0.1 + 0.8 * right + bias * (of - np.log(25)) + rng.normal(0, 0.1, shape)
        bounded: Floats = np.clip(values, 0, 1)
        return bounded

    return Scored(judged(good, lengths), lengths, judged(np.zeros(shape, bool), null_lengths), null_lengths)


def within(scores: Floats, lengths: Floats) -> Floats:
    """Return the slopes [models] of scores on lengths within each model."""
    x = lengths - lengths.mean(axis=1, keepdims=True)
    slopes: Floats = (x * scores).sum(axis=1) / (x * x).sum(axis=1)
    return slopes


def moved(run: Scored, slopes: Floats, length: float) -> Floats:
    """Return the models' means at one length."""
    means: Floats = run.scores.mean(axis=1) - slopes * (run.lengths.mean(axis=1) - length)
    return means


COMMON = float(np.log(25))
ADJUSTMENTS: Mapping[str, Callable[[Scored], Floats]] = {
    "none": lambda run: run.scores.mean(axis=1),
    "slope of all models, their mean length": lambda run: moved(
        run, np.full(len(QUALITIES), within(run.scores, run.lengths).mean()), float(run.lengths.mean())
    ),
    "own slope, a fixed length": lambda run: moved(run, within(run.scores, run.lengths), COMMON),
    "own slope on shuffled explanations, a fixed length": lambda run: moved(
        run, within(run.null_scores, run.null_lengths), COMMON
    ),
}


class Result(NamedTuple):
    """Effect of an adjustment.

    Attributes:
        in_order: share of runs with all models in their order.
        spread: mean score of the best model less that of the worst; as built, 0.64 without a bias.
    """

    in_order: float
    spread: float


def result(adjustment: str, words: str, bias: str) -> Result:
    """Return what an adjustment does to the models; the same numbers in every call."""
    rng = np.random.default_rng(SEED)
    runs = (simulated(WORDS[words], BIASES[bias], rng) for _ in range(N_RUNS))
    means = np.array([ADJUSTMENTS[adjustment](run) for run in runs])
    return Result(float((np.diff(means) < 0).all(axis=1).mean()), float((means[:, 0] - means[:, -1]).mean()))


def main() -> None:
    """Print the table."""
    print(
        "| adjustment | judge | explanations | in order | best less worst |\n| --- | --- | --- | --- | --- |"
    )
    for name in ADJUSTMENTS:
        for bias in BIASES:
            for words in WORDS:
                own = result(name, words, bias)
                print(f"| {name} | {bias} | {words} | {own.in_order:.0%} | {own.spread:.2f} |")


if __name__ == "__main__":
    main()
