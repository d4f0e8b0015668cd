"""Samples like those of real evaluations, with their numbers and intervals, for the figures of intervals.

Similarities of countries have a part by region and a part of each country's own; with a larger `plural`,
countries have less in common. Data that several numbers use are drawn once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from tasks.evaluations.spectral.people import interval_with_people
from tasks.evaluations.spectral.read import MIN_COUNTRIES
from tasks.evaluations.spectral.study import SpectralQuestion
from tasks.metrics import classification, comparison, consensus, intervals, spectral, value_shift
from tasks.metrics.agreement import er_sr_correlation, pearson, rank_agreement
from tasks.metrics.intervals import CORRELATION, POSITIVE, SHARE
from tasks.metrics.recognition import Recognition, persona_recognition
from tasks.metrics.types import Category, FloatArray, Interval

Generator = np.random.Generator
Labelled = tuple[list[str], list[str]]
Clustered = tuple[FloatArray, FloatArray]
"""Values, and the cluster of each."""
P = ParamSpec("P")
T = TypeVar("T")


def by_seed(draw: Callable[Concatenate[int, P], T]) -> Callable[Concatenate[Generator, P], T]:
    """Return a function of a seed as one of a generator; what several numbers use is drawn once."""
    drawn = cache(draw)

    def of_generator(rng: Generator, /, *arguments: P.args, **named: P.kwargs) -> T:
        return drawn(int(rng.integers(2**32)), *arguments, **named)  # type: ignore[arg-type]

    return of_generator


def mean_of(
    rng: Generator, n: int, draw: Callable[[Generator, int], T], number: Callable[[T], float], samples: int
) -> float:
    """Return the mean of a number over new samples of n clusters."""
    return float(np.mean([number(draw(rng, n)) for _ in range(samples)]))


def clustered(rng: Generator, n: int, mean: float) -> Clustered:
    """Return 1 to 6 values, 0 or 1, for each of n clusters that differ."""
    sizes = rng.integers(1, 7, n)
    chance = np.repeat(rng.beta(3 * mean, 3 * (1 - mean), n), sizes)
    return (rng.random(sizes.sum()) < chance).astype(np.float64), np.repeat(np.arange(n), sizes)


def clustered_interval(sample: Clustered, bounds: tuple[float, float]) -> Interval:
    return intervals.mean_interval(*sample, bounds)


def alignments(rng: Generator, n: int, null: float) -> Clustered:
    """Return points of 15 answers to each of n scenarios, minus the null's points."""
    error = rng.normal(0, 0.8, (n, 1)) + rng.normal(0, 0.5, (n, 15))
    points = np.maximum(0.0, 10 - 2.5 * np.abs(error)).ravel() - null
    return points, np.repeat(np.arange(n), 15)


def mean_alignment(rng: Generator, n: int, null: float) -> float:
    return float(alignments(rng, 100_000, null)[0].mean())


def errors(rng: Generator, n: int) -> FloatArray:
    """Return the differences of the baseline's scores of n scenarios (-2 to 2) from a culture's."""
    return np.clip(rng.normal(0.3, 0.8, n), -2, 2) - 0.9


def distance_interval(error: FloatArray) -> Interval:
    ends = intervals.mean_interval(error**2, bounds=(0.0, 16.0))
    return ends and (ends[0] ** 0.5, ends[1] ** 0.5)


def labels(rng: Generator, n: int) -> Labelled:
    gold = rng.choice(["yes", "no", "neutral"], n, p=[0.5, 0.3, 0.2])
    labels = np.where(rng.random(n) < 0.7, gold, rng.choice(["yes", "no", "neutral"], n))
    return gold.tolist(), labels.tolist()


def macro_interval(sample: Labelled) -> Interval:
    left_out = classification.f1_left_out(*sample, [f"{i:06d}" for i in range(len(sample[0]))]).macro
    return intervals.jackknife_interval(classification.macro_f1(*sample), left_out, SHARE)


ORIGINS = np.linspace(0.1, 0.3, 15)
"""mAP of each origin."""
CLOSENESS = 0.3 + ORIGINS + np.random.default_rng(8).normal(0, 0.05, 15)
"""mWS of each origin."""


def origins(rng: Generator, n: int) -> FloatArray:
    """Return [2, 15, dishes]: average precision and weighted similarity of n dishes."""
    values = [rng.beta(2, 2 / mean[:, None] - 2, (15, n // 15)) for mean in (ORIGINS, CLOSENESS)]
    return np.array(values)


def spread_interval(sample: FloatArray, number: Callable[..., float | None], bounds: Any) -> Interval:
    """Return the interval of a number of origins' means, by a jackknife over dishes."""
    size = sample[0].size
    members = np.array([np.isin(np.arange(size), each) for each in intervals.jackknife_groups(size, 0)])
    by_origin = members.reshape(-1, 15, size // 15)
    left_out_means = (by_origin[:, None] * sample).sum(axis=-1) / by_origin.sum(axis=-1)[:, None]
    left_out = [number(*means) for means in left_out_means]
    return intervals.jackknife_interval(
        number(*sample.mean(axis=-1)) or 0.0, left_out, bounds, is_biased=True
    )


def cv(ap: FloatArray, ws: FloatArray) -> float | None:
    return comparison.coefficient_of_variation(ap)


_BASE, _PUSH = np.random.default_rng(3).normal(0, 1, (2, 20))


def shifted(rng: Generator, n: int, shift: float = 0.5) -> tuple[FloatArray, FloatArray]:
    """Return [n scenarios, 20 values] counts of the baseline and of a persona: three answers of three
    values."""
    preferences = rng.normal(0, 1.2, (n, 20)) + _BASE
    sides = (np.exp(preferences), np.exp(preferences + shift * _PUSH))
    first, second = (rng.multinomial(9, side / side.sum(axis=1, keepdims=True)) for side in sides)
    return first.astype(np.float64), second.astype(np.float64)


def true_shift(rng: Generator, n: int) -> float:
    first, second = (side.sum(axis=0) for side in shifted(rng, 20_000))
    return value_shift.total_variation(first, second) or 0.0


def persona_shift(sides: tuple[FloatArray, FloatArray]) -> value_shift.ValueShift | None:
    baseline, persona = sides
    strata = np.arange(len(persona))
    return value_shift.persona_shift(persona, baseline, strata, strata, 100, 0)


def shift_interval(sides: tuple[FloatArray, FloatArray]) -> Interval:
    shift = persona_shift(sides)
    return None if shift is None else value_shift.shift_interval([shift], sides[1][None], sides[0], 100, 0)


def common_share(rng: Generator, n: int) -> float:
    """Return the share of the value that personas choose most often."""
    total = shifted(rng, 20_000)[1].sum(axis=0)
    return float(total[np.argmax(_BASE + 0.5 * _PUSH)] / total.sum())


def share_interval(sides: tuple[FloatArray, FloatArray]) -> Interval:
    counts = sides[1][:, np.argmax(_BASE + 0.5 * _PUSH)], sides[1].sum(axis=1)
    n_value, total = counts[0].sum(), counts[1].sum()
    left_out = (n_value - counts[0]) / (total - counts[1])
    return intervals.jackknife_interval(n_value / total, left_out, SHARE)


@by_seed
def recognised(seed: int, n: int, share: float = 0.1, permutations: int = 0) -> Recognition:
    """Return the recognition of four cultures' answers to n scenarios, two answers each.

    Args:
        share: share of words that are replaced by typical words of the culture.
    """
    draw, words = random.Random(seed), []
    for culture in range(4):
        for scenario in range(n):
            for _ in range(2):
                plain = [f"w{draw.randrange(60)}" for _ in range(15)] + [f"of-{scenario}"] * 2
                cliche = f"c{culture}-{draw.randrange(5)}"
                words.append([cliche if draw.random() < share else word for word in plain])
    cultures, scenarios = np.repeat(np.arange(4), 2 * n), np.tile(np.repeat(np.arange(n), 2), 4)
    result = persona_recognition(words, cultures, scenarios, permutations, seed)
    assert result is not None
    return result


CORE, REGION = np.random.default_rng(5).normal(0, 1.5, 60), np.random.default_rng(6).normal(0, 1, (8, 60))
_FIXED = np.random.default_rng(7).normal(0, 1, 60)


def similarity(rng: Generator, n: int, plural: float, fixed: bool = False) -> FloatArray:
    """Return the cosines of n countries of 8 regions.

    Args:
        fixed: the first country is the same in all samples.
    """
    noise = plural * rng.normal(0, 1, (n, 60)) * rng.gamma(4, 0.25, (n, 1))
    if fixed:
        noise[0] = plural * _FIXED
    h = np.exp(CORE + 0.5 * REGION[rng.integers(0, 8, n)] * (np.arange(n) > 0)[:, None] + noise)
    return spectral.cosine_similarity(h)


def spectrum(matrix: FloatArray) -> FloatArray:
    """Return [2]: ER and SR."""
    er_sr: FloatArray = spectral.spectra_of_subsets(matrix, [np.arange(len(matrix))])[0]
    return er_sr


@by_seed
def left_out(seed: int, n: int, plural: float) -> FloatArray:
    """Return [1 + g, 2]: ER and SR of n countries, and without each group of them."""
    matrix = similarity(np.random.default_rng(seed), n, plural)
    rest = spectral.spectra_of_subsets(matrix, intervals.jackknife_groups(n, 0))
    return np.concatenate([spectrum(matrix)[None], rest])


def spectrum_interval(values: FloatArray, place: int) -> Interval:
    """Return the interval of ER (place 0) or SR (place 1)."""
    estimate, *rest = values[:, place].tolist()
    return intervals.jackknife_interval(estimate, rest, POSITIVE, MIN_COUNTRIES)


def mean_spectrum(rng: Generator, n: int, plural: float, place: int) -> float:
    """Return the geometric mean of ER or SR over new samples."""
    drawn = [spectrum(similarity(rng, n, plural))[place] for _ in range(1000)]
    return float(np.exp(np.mean(np.log(drawn))))


class Domains(NamedTuple):
    """ER and SR of nine domains over n countries, and over r half-samples of them.

    Attributes:
        spectra: [9, 1 + r, 2].
    """

    n: int
    spectra: FloatArray


_PLURAL = np.linspace(0.5, 4, 9)
_HUMAN = ["LH", "LL", "LH", "HH", "LL", "HL", "HH", "HL", "HL"]
_SCORES = [3.0, 3.4, 3.2, 4.1, 5.5, 5.0, 6.1, 8.2, 7.0]
SAME, OTHER = tuple(range(9)), (2, 0, 1, 4, 3, 6, 8, 5, 7)
"""Orders of the domains by plurality: people's order, and one that agrees with it less."""


@by_seed
def domains(seed: int, n: int, halves: int = 100, order: tuple[int, ...] = SAME) -> Domains:
    rng = np.random.default_rng(seed)
    members = [np.arange(n), *(intervals.half_samples(n, halves, 0) if halves else ())]
    matrices = (similarity(rng, n, plural) for plural in _PLURAL[list(order)])
    return Domains(n, np.stack([spectral.spectra_of_subsets(matrix, members) for matrix in matrices]))


def mean_over_countries(
    rng: Generator, n: int, number: Callable[[FloatArray], float], draw: Callable[..., Domains] = domains,
    order: tuple[int, ...] | None = SAME,
) -> float:  # fmt: skip
    """Return the mean of a number of spectra over new samples of countries."""
    return mean_of(rng, n, partial(draw, halves=0, order=order), lambda s: number(s.spectra[:, 0]), 500)


_APART = np.linspace(0.5, 3, 9)[[4, 7, 0, 8, 2, 5, 1, 6, 3]]
"""Weights of the regions, in another order than plurality: ER and SR agree only moderately (rho -0.6)."""


RISING, FALLING = (0, 1, 2, 3, 4, 5, 6, 7, 8), (8, 7, 6, 5, 4, 3, 2, 1, 0)
"""Orders of the weights by plurality, with which ER and SR agree strongly (rho -0.9) or hardly (0.1)."""


@by_seed
def questions(seed: int, n: int, halves: int = 100, order: tuple[int, ...] | None = None) -> Domains:
    """Return 27 questions, three a domain, whose regions and plurality vary apart, or in this order."""
    rng = np.random.default_rng(seed)
    members = [np.arange(n), *(intervals.half_samples(n, halves, 0) if halves else ())]
    regions = rng.integers(0, 8, n)
    spectra = []
    weights = _APART if order is None else np.linspace(0.5, 3, 9)[list(order)]
    for plural, weight in zip(np.linspace(0.5, 2.5, 9), weights, strict=True):
        for _ in range(3):
            noise = plural * rng.normal(0, 1, (n, 60)) * rng.gamma(4, 0.25, (n, 1))
            matrix = spectral.cosine_similarity(np.exp(CORE + weight * REGION[regions] + noise))
            spectra.append(spectral.spectra_of_subsets(matrix, members))
    return Domains(n, np.stack(spectra))


def of_halves(
    sample: Domains, number: Callable[[FloatArray], float], bounds: Any, is_fisher: bool = False
) -> Interval:
    estimate, *values = [number(spectra) for spectra in sample.spectra.swapaxes(0, 1)]
    return intervals.half_sample_interval(
        estimate, values, sample.n, bounds, MIN_COUNTRIES, is_fisher=is_fisher
    )


def category_interval(sample: Domains) -> Interval:
    """Return the interval of macro F1 over half-samples, with the error of a jump."""
    estimate, *values = [category_f1(spectra) for spectra in sample.spectra.swapaxes(0, 1)]
    error = classification.jump_error(_HUMAN, _predicted(sample.spectra[:, 0]))["macro_f1"]
    return intervals.jumping_interval(estimate, values, sample.n, error, MIN_COUNTRIES)


def _predicted(spectra: FloatArray, pool: FloatArray | None = None) -> list[str]:
    high = spectra > classification.lower_median(spectra if pool is None else pool)
    return [spectral.er_sr_category(bool(er), bool(sr)) for er, sr in high]


def category_f1(spectra: FloatArray, pool: FloatArray | None = None) -> float:
    """Return macro F1 of the categories.

    Args:
        pool: spectra whose medians are used; None: the same spectra.
    """
    return classification.macro_f1(_HUMAN, _predicted(spectra, pool))


def correlation(spectra: FloatArray) -> float:
    return er_sr_correlation(*spectra.T).value or 0.0


def rank(spectra: FloatArray, place: int) -> float:
    """Return Spearman's rho (place 0) or Kendall's tau (place 1) with people's order."""
    pair = rank_agreement(spectra[:, 1], _SCORES)
    return np.nan if pair is None else pair[place]


def competence(matrix: FloatArray) -> float:
    loadings = consensus.competence(matrix)
    return np.nan if loadings is None else float(loadings[0])


def competence_interval(matrix: FloatArray) -> Interval:
    left_out_loadings = consensus.competence_left_out(matrix, intervals.jackknife_groups(len(matrix), 0))
    left_out = () if left_out_loadings is None else left_out_loadings[:, 0]
    return intervals.jackknife_interval(competence(matrix), left_out, CORRELATION, MIN_COUNTRIES)


def phrasings(rng: Generator, n: int) -> list[FloatArray]:
    """Return the cosines of n countries under three wordings, each of which changes all answers."""
    shared = CORE + 0.5 * REGION[rng.integers(0, 8, n)] + rng.normal(0, 1, (n, 60))
    return [spectral.cosine_similarity(np.exp(shared + rng.normal(0, 1, (n, 60)))) for _ in range(3)]


def wording(matrices: list[FloatArray]) -> float:
    return consensus.paraphrase_agreement(matrices) or 0.0


def wording_interval(matrices: list[FloatArray]) -> Interval:
    groups = intervals.jackknife_groups(len(matrices[0]), 0)
    left_out = [
        consensus.paraphrase_agreement([matrix[np.ix_(group, group)] for matrix in matrices])
        for group in groups
    ]
    return intervals.jackknife_interval(wording(matrices), left_out, CORRELATION, MIN_COUNTRIES)


def map_mws(ap: FloatArray, ws: FloatArray) -> float | None:
    return pearson(ap, ws)


PEOPLE = 80
_RANKS = np.array([3.18, 2.90, 3.92, 3.98, 4.70, 5.64, 5.89, 6.59, 8.20])
_FIRST = ("L", "H", "H", "H", "L", "L", "L", "H", "H")
"""Mean ranks and first letters of table 1 of the spectral paper, from house numbers to currency."""

_OWN = 4.0  # standard deviation of a person's own part; gives ranks the table's deviation of about 2
_DOMAIN = 3  # the last domain below the threshold


class Survey(NamedTuple):
    """Countries, and mean ranks of people, of one study.

    Attributes:
        people: [9] mean rank, and [9] standard deviation.
        threshold: mean rank below which consensus is strong.
    """

    countries: Domains
    people: tuple[FloatArray, FloatArray]
    threshold: float


def _ranks(rng: Generator, n: int) -> FloatArray:
    """Return [n, 9] ranks from 1."""
    expected = 1.6 * _RANKS
    order = (expected + rng.normal(0, _OWN, (n, len(expected)))).argsort(axis=1)
    return order.argsort(axis=1) + 1.0


@cache
def _of_all() -> FloatArray:
    """Return [9] mean ranks of all people."""
    means: FloatArray = _ranks(np.random.default_rng(11), 200_000).mean(axis=0)
    return means


def _threshold(near: float | None) -> float:
    """Return the threshold midway between two domains, or this number of standard errors above the lower."""
    means = _of_all()
    if near is None:
        return float(means[_DOMAIN] + means[_DOMAIN + 1]) / 2
    deviation = _ranks(np.random.default_rng(12), 20_000)[:, _DOMAIN].std()
    return float(means[_DOMAIN] + near * deviation / np.sqrt(PEOPLE))


def survey(rng: Generator, n: int, near: float | None, halves: int = 100) -> Survey:
    """Return a study over n countries and 80 people.

    Args:
        near: standard errors of a domain's mean rank between it and the threshold; None: as in table 1.
    """
    ranks = _ranks(rng, PEOPLE)
    people = ranks.mean(axis=0), ranks.std(axis=0, ddof=1)
    return Survey(domains(rng, n, halves), people, _threshold(near))


def _categories(means: FloatArray, threshold: float) -> list[str]:
    return [first + ("H" if mean < threshold else "L") for first, mean in zip(_FIRST, means, strict=True)]


def _predicted_categories(spectra: FloatArray) -> list[Category]:
    high = spectra > classification.lower_median(spectra)
    return [spectral.er_sr_category(bool(er), bool(sr)) for er, sr in high]


def _f1(spectra: FloatArray, truth: list[str]) -> float:
    return classification.macro_f1(truth, list(_predicted_categories(spectra)))


def survey_interval(sample: Survey) -> Interval:
    """Return the interval of the metric ``macro_f1_with_people``."""
    (means, deviations), spectra = sample.people, sample.countries.spectra
    truth = _categories(means, sample.threshold)
    questions = [
        SpectralQuestion(str(i), str(i), 1, "", "", "", mean, category, deviation, PEOPLE)
        for i, (mean, category, deviation) in enumerate(
            zip(means.tolist(), truth, deviations.tolist(), strict=True)
        )
    ]
    values = np.array([_f1(column, truth) for column in spectra.swapaxes(0, 1)])
    found = interval_with_people(
        questions, _predicted_categories(spectra[:, 0]), values, sample.countries.n, 0
    )
    assert not isinstance(found, str), found
    return found


def mean_of_surveys(rng: Generator, n: int, near: float | None) -> float:
    """Return the mean macro-F1 over new samples of countries, against the categories of all people."""
    truth = _categories(_of_all(), _threshold(near))
    return float(np.mean([_f1(domains(rng, n, 0).spectra[:, 0], truth) for _ in range(500)]))
