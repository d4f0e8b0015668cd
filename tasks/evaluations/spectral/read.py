"""Makes spectra, competence and reference mass of one model from log-probabilities. Pure.

One question at a time, so that at most one countries x items matrix is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.spectral.study import ItemList, Question, SpectralStudy
from tasks.metrics import intervals, nulls, spectral
from tasks.metrics.types import FloatArray

MIN_COUNTRIES = 12
"""From how many countries on intervals of spectra, and of what follows from them, hold what they should."""


@dataclass(frozen=True)
class QuestionAnswers:
    """One model's answers to one question.

    Attributes:
        logprobs: [n, t] natural-log probabilities; row i is the i-th country of the study.
        n_tokens: [t] tokens of each item.
        is_distribution: the rows are distributions over the list already, so no length normalisation applies.
    """

    logprobs: FloatArray
    n_tokens: NDArray[np.int64]
    is_distribution: bool = False


@dataclass(frozen=True)
class QuestionScore:
    """One model's scores in one question.

    Attributes:
        er, sr: effective rank and spectral gap ratio over all countries (equation 2).
        er_halves, sr_halves: [r] the same of half the countries each (``intervals.half_samples``).
        er_left_out, sr_left_out: [g] the same without some countries (``intervals.jackknife_groups``).
        similarity: [n, n] cosines between countries.
        mass, mass_null: [n] probability on the country's listed items, and on another country's row; NaN
            for a country without listed items (internal only: counted as unscored when aggregated).
    """

    question: Question
    er: float
    sr: float
    er_halves: FloatArray
    sr_halves: FloatArray
    er_left_out: FloatArray
    sr_left_out: FloatArray
    similarity: FloatArray
    mass: FloatArray
    mass_null: FloatArray


@dataclass(frozen=True)
class ModelScore:
    """One model's scores, and the reason for every question that has none."""

    questions: dict[str, QuestionScore]
    unscored: dict[str, str]


def score_model(study: SpectralStudy, load: Callable[[Question], QuestionAnswers | str]) -> ModelScore:
    """Score every question of a study.

    Args:
        load: gives the answers to a question, or the reason why there are none. Answers of which a country
            has no distribution (a NaN, or no possible item) leave the question unscored too.
    """
    subsets = country_subsets(study)
    scored: dict[str, QuestionScore] = {}
    unscored: dict[str, str] = {}
    for question in study.questions:
        answers = load(question)
        reason = answers if isinstance(answers, str) else _fault(study, answers)
        if isinstance(answers, str) or reason:
            unscored[question.question] = reason or "no answers"
            continue
        h = distribution(answers, study.lists[question.item_list], study.params.normalisation)
        scored[question.question] = score_question(study, question, h, subsets)
    return ModelScore(scored, unscored)


def distribution(answers: QuestionAnswers, items: ItemList, normalisation: str) -> FloatArray:
    """[n, t] the country-level distributions H: softmax over the list's items (section 3.3)."""
    logprobs = answers.logprobs
    if answers.is_distribution:
        return spectral.softmax(logprobs)
    if normalisation == "per_token":
        logprobs = spectral.normalise(logprobs, answers.n_tokens)
    elif normalisation == "per_byte":
        logprobs = spectral.normalise(logprobs, [len(i.encode()) for i in items.items])
    return spectral.softmax(logprobs)


def country_subsets(study: SpectralStudy) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Half-samples, and countries with some left out: the same for every question and model.

    None of either below ``MIN_COUNTRIES``.
    """
    n, seed = len(study.countries), study.params.seed
    if n < MIN_COUNTRIES:
        return np.empty((0, n // 2), dtype=np.intp), []
    return intervals.half_samples(n, study.params.half_samples, seed), intervals.jackknife_groups(n, seed)


def score_question(
    study: SpectralStudy,
    question: Question,
    h: FloatArray,
    subsets: tuple[NDArray[np.intp], list[NDArray[np.intp]]],
) -> QuestionScore:
    """Spectrum, those of ``country_subsets``, and reference mass of one matrix H [n, t].

    The spectrum is taken of the rows in an order of their own, so that the same rows dealt out to other
    countries have the same ER and SR to the last bit, and cannot fall on the other side of a median.
    """
    similarity = spectral.cosine_similarity(h, names=list(study.countries.values()))
    values = spectral.eigenvalues(h[sorted(range(len(h)), key=lambda row: h[row].tobytes())])
    halves, left_out = (spectral.spectra_of_subsets(similarity, of_kind) for of_kind in subsets)
    member = membership(study, study.lists[question.item_list])
    return QuestionScore(
        question=question,
        er=spectral.effective_rank(values),
        sr=spectral.spectral_gap_ratio(values),
        er_halves=halves[:, 0],
        sr_halves=halves[:, 1],
        er_left_out=left_out[:, 0],
        sr_left_out=left_out[:, 1],
        similarity=similarity,
        mass=_spread(*nulls.reference_mass(h, member)),
        mass_null=_spread(*nulls.reference_mass_null(h, member)),
    )


def membership(study: SpectralStudy, items: ItemList) -> NDArray[np.bool_]:
    """[n, t] whether the reference list has the item for the country."""
    row = {code: i for i, code in enumerate(study.countries)}
    member = np.zeros((len(row), len(items.items)), dtype=np.bool_)
    for column, listed in enumerate(items.countries):
        member[[row[code] for code in listed if code in row], column] = True
    return member


def shuffled(study: SpectralStudy, answers: QuestionAnswers, question: Question) -> QuestionAnswers:
    """The answers dealt out to countries at random, differently for every question."""
    index = [q.question for q in study.questions].index(question.question)
    rng = np.random.Generator(np.random.PCG64([study.params.seed, index]))
    return replace(answers, logprobs=nulls.shuffle_countries(answers.logprobs, rng))


def from_list(study: SpectralStudy, question: Question) -> QuestionAnswers:
    """Return the answers of a look-up in the reference list, without a model (``nulls.list_frequency``)."""
    items = study.lists[question.item_list]
    with np.errstate(divide="ignore"):  # an item of no chosen country is impossible: log 0
        logprobs = np.log(nulls.list_frequency(len(study.countries), membership(study, items)))
    return QuestionAnswers(logprobs, np.ones(len(items.items), dtype=np.int64), is_distribution=True)


def domain_similarity(score: ModelScore) -> Mapping[str, FloatArray]:
    """[n, n] mean cosine matrix of each domain over its scored questions."""
    by_domain: dict[str, list[FloatArray]] = {}
    for s in score.questions.values():
        by_domain.setdefault(s.question.domain, []).append(s.similarity)
    return {domain: np.mean(matrices, axis=0) for domain, matrices in by_domain.items()}


def _fault(study: SpectralStudy, answers: QuestionAnswers) -> str | None:
    """Why some country's answers are no distribution, or None if they all are."""
    bad = np.flatnonzero(~np.isfinite(answers.logprobs.max(axis=1)))  # max() carries NaN
    if not bad.size:
        return None
    names = list(study.countries.values())
    return f"NaN or no finite log-probability for {bad.size} countries, the first {names[bad[0]]}"


def _spread(values: FloatArray, scored: NDArray[np.bool_]) -> FloatArray:
    """Values of the scored countries back at their places, NaN elsewhere."""
    out = np.full(len(scored), np.nan)
    out[scored] = values
    return out


def er_columns(q: QuestionScore) -> FloatArray:
    """[1 + r] ER and those of half-samples, rounded."""
    return _rounded(q.er, q.er_halves)


def sr_columns(q: QuestionScore) -> FloatArray:
    """[1 + r] SR and those of half-samples, rounded."""
    return _rounded(q.sr, q.sr_halves)


def _rounded(estimate: float, replicates: FloatArray) -> FloatArray:
    """Estimate and replicates to 34 bits, some 10 digits: what differs by rounding alone is a tie."""
    mantissa, exponent = np.frexp(np.concatenate([[estimate], replicates]))
    rounded: FloatArray = np.ldexp(np.round(np.ldexp(mantissa, 34)), exponent - 34)
    return rounded
