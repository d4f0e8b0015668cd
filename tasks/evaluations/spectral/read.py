"""Computes spectra, competence and reference mass of one model from log-probabilities. Pure. It handles one
question at a time, so that at most one countries x items matrix is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.contract import Completions
from tasks.evaluations.spectral.panel import Spectra, spectra
from tasks.evaluations.spectral.sampling import counted, drawn, drawn_from, equal_countries
from tasks.evaluations.spectral.study import ENGLISH, ItemList, SpectralQuestion, SpectralStudy
from tasks.metrics import intervals, nulls, spectral
from tasks.metrics.classification import rounded
from tasks.metrics.types import FloatArray, IntArray

MIN_COUNTRIES = 12
"""Least number of countries for which intervals of spectra and derived numbers reach their coverage."""
MIN_SAMPLED = 60
"""Least number of countries where distributions are shares of draws (docs/intervals.md)."""
MOST_LOST = 0.1
"""Largest share of lost countries of a scored question: effective rank depends on their number."""


@dataclass(frozen=True)
class QuestionAnswers:
    """One model's answers to one question.

    Attributes:
        logprobs: [n, t] natural-log probabilities; row i is the i-th country of the study.
        n_tokens: [t] tokens of each item.
        is_distribution: the rows are distributions over the list already, so no length normalisation applies.
        n_draws: draws that each row is the share of; a row of -inf is a lost country. 0: the rows are exact.
        on_list: [n] share of a country's answers that name an item; None if the rows are exact.
    """

    logprobs: FloatArray
    n_tokens: NDArray[np.int64]
    is_distribution: bool = False
    n_draws: int = 0
    on_list: FloatArray | None = None


@dataclass(frozen=True)
class QuestionScore:
    """One model's scores in one question.

    Attributes:
        er, sr: effective rank and spectral gap ratio over all countries (equation 2).
        er_halves, sr_halves: [r] the same for random halves of the countries (``intervals.half_samples``).
        er_left_out, sr_left_out: [g] the same with some countries left out (``intervals.jackknife_groups``).
        similarity: [n, n] cosines between countries; NaN for a lost country.
        top: [n] probability of the item that is the most probable on average over the countries; NaN if lost.
        mass, mass_null: [n] probability that the country's own answer, and another country's answer, puts on
            the country's listed items; NaN for a country without listed items or lost (internal only: counted
            as unscored when aggregated).
        er_null, sr_null: of countries that all have one distribution.
        on_list: as of ``QuestionAnswers``.
        er_mixed, sr_mixed: after the countries of each item are shuffled apart, which leaves what depends on
            the list and its items alone; NaN in a study of one language.
    """

    question: SpectralQuestion
    er: float
    sr: float
    er_halves: FloatArray
    sr_halves: FloatArray
    er_left_out: FloatArray
    sr_left_out: FloatArray
    similarity: FloatArray
    top: FloatArray
    mass: FloatArray
    mass_null: FloatArray
    er_null: float = 1.0
    sr_null: float = math.inf
    on_list: FloatArray | None = None
    er_mixed: float = math.nan
    sr_mixed: float = math.nan

    @property
    def n_lost(self) -> int:
        """Countries without a row."""
        return int(np.isnan(self.top).sum())


@dataclass(frozen=True)
class ModelScore:
    """One model's scores, and the reason for every question that has none.

    panel: question -> its spectra under other choices; empty for null models.
    """

    questions: dict[str, QuestionScore]
    unscored: dict[str, str]
    panel: dict[str, Spectra] = field(default_factory=dict)


def score_model(
    study: SpectralStudy,
    load: Callable[[SpectralQuestion], QuestionAnswers | str],
) -> ModelScore:
    """Score every question of a study, without the spectra under other choices.

    Args:
        load: returns the answers to a question, or the reason why there are none. A question is also unscored
            if any country has no distribution (a NaN, or no possible item).
    """
    score, subsets = ModelScore({}, {}), country_subsets(study)
    for question in study.questions:
        _add(study, score, question, load(question), subsets)
    return score


def score_with_copy(
    study: SpectralStudy, load: Callable[[SpectralQuestion], QuestionAnswers | str]
) -> tuple[ModelScore, ModelScore]:
    """Return a model's scores with the spectra under other choices, and those of its answers after the
    countries are shuffled; see ``score_model``. Each question is loaded once.
    """
    own, copy, subsets = ModelScore({}, {}), ModelScore({}, {}), country_subsets(study)
    for question in study.questions:
        answers = load(question)
        _add(study, own, question, answers, subsets)
        if not isinstance(answers, str):
            if question.question in own.questions and not answers.n_draws:
                items = study.lists[question.item_list]
                own.panel[question.question] = spectra(answers.logprobs, answers.n_tokens, items)
            answers = shuffled(study, answers, question)
        _add(study, copy, question, answers, subsets)
    return own, copy


def _add(
    study: SpectralStudy,
    score: ModelScore,
    question: SpectralQuestion,
    answers: QuestionAnswers | str,
    subsets: tuple[NDArray[np.intp], list[NDArray[np.intp]]],
) -> None:
    """Add a question's scores, or the reason why it has none."""
    reason = answers if isinstance(answers, str) else _fault(study, answers)
    if isinstance(answers, str) or reason:
        score.unscored[question.question] = reason or "no answers"
        return
    h = distribution(answers, study.lists[question.item_list], study.params.normalisation)
    found = score_question(study, question, h, subsets)
    if study.others or study.is_other:
        found = _with_mixed(found, h, _generator(study, question))
    score.questions[question.question] = (
        _with_null(found, answers, study.params.seed) if answers.n_draws else found
    )


def distribution(answers: QuestionAnswers, items: ItemList, normalisation: str) -> FloatArray:
    """[n, t] the country-level distributions H: softmax over the list's items (section 3.3); NaN if lost."""
    logprobs = answers.logprobs
    if answers.n_draws:
        present = np.isfinite(logprobs.max(axis=1))
        h = np.full(logprobs.shape, np.nan)
        h[present] = spectral.softmax(logprobs[present])
        return h
    if answers.is_distribution:
        return spectral.softmax(logprobs)
    if normalisation == "per_token":
        logprobs = spectral.normalise(logprobs, answers.n_tokens)
    elif normalisation == "per_byte":
        logprobs = spectral.normalise(logprobs, [len(i.encode()) for i in items.items])
    return spectral.softmax(logprobs)


def least_countries(study: SpectralStudy) -> int:
    """Return the least number of countries that intervals need."""
    return MIN_SAMPLED if study.is_sampled else MIN_COUNTRIES


def country_subsets(study: SpectralStudy) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Return half-samples and leave-out subsets of the countries, the same for every question and model. Both
    are empty below ``least_countries``.
    """
    n, seed = len(study.countries), study.params.seed
    if n < least_countries(study):
        return np.empty((0, n // 2), dtype=np.intp), []
    return intervals.half_samples(n, study.params.half_samples, seed), intervals.jackknife_groups(n, seed)


def among(present: IntArray, subsets: Iterable[IntArray]) -> list[IntArray]:
    """Return subsets of the countries as places among those that are present; others are left out."""
    return [np.searchsorted(present, each[np.isin(each, present)]) for each in subsets]


def score_question(
    study: SpectralStudy,
    question: SpectralQuestion,
    h: FloatArray,
    subsets: tuple[NDArray[np.intp], list[NDArray[np.intp]]],
) -> QuestionScore:
    """Return the reference mass and the spectra of one matrix H [n, t], over all countries and over each of
    ``country_subsets``. The rows are sorted before the spectrum is computed. So shuffling the countries
    leaves ER and SR equal to the last bit, and no question changes its side of a median.
    """
    is_there = ~np.isnan(h[:, 0])
    present, own, names = np.flatnonzero(is_there), h[is_there], list(study.countries.values())
    similarity = spectral.cosine_similarity(own, names=[names[i] for i in present])
    values = spectral.eigenvalues(own[sorted(range(len(own)), key=lambda row: own[row].tobytes())])
    halves, left_out = (
        spectral.spectra_of_subsets(similarity, among(present, of_kind)) for of_kind in subsets
    )
    member = membership(study, study.lists[question.item_list])[present]
    n = len(study.countries)
    everyone = np.full((n, n), np.nan)
    everyone[np.ix_(present, present)] = similarity
    return QuestionScore(
        question=question,
        er=spectral.effective_rank(values),
        sr=spectral.spectral_gap_ratio(values),
        er_halves=halves[:, 0],
        sr_halves=halves[:, 1],
        er_left_out=left_out[:, 0],
        sr_left_out=left_out[:, 1],
        similarity=everyone,
        top=_spread(own[:, int(own.mean(axis=0).argmax())], is_there),
        mass=_spread(_spread(*nulls.reference_mass(own, member)), is_there),
        mass_null=_spread(_spread(*nulls.reference_mass_null(own, member)), is_there),
    )


def _with_null(score: QuestionScore, answers: QuestionAnswers, seed: int) -> QuestionScore:
    """Return the score with the mean ER and SR of countries that all draw from one distribution."""
    tables = equal_countries(answers.logprobs, answers.n_draws, seed)
    values = [spectral.eigenvalues(spectral.softmax(table)) for table in tables]
    er = np.mean([spectral.effective_rank(v) for v in values])
    sr = np.exp(np.mean(np.log([spectral.spectral_gap_ratio(v) for v in values])))
    return replace(score, er_null=float(er), sr_null=float(sr), on_list=answers.on_list)


def _with_mixed(score: QuestionScore, h: FloatArray, rng: np.random.Generator) -> QuestionScore:
    """Return the score with ER and SR after each item's probabilities are shuffled over countries."""
    values = spectral.eigenvalues(rng.permuted(h, axis=0) + 1e-12)  # no country is without any item
    return replace(
        score, er_mixed=spectral.effective_rank(values), sr_mixed=spectral.spectral_gap_ratio(values)
    )


def _generator(study: SpectralStudy, question: SpectralQuestion) -> np.random.Generator:
    """Return a generator of the question's own, in its language."""
    index = [q.question for q in study.questions].index(question.question)
    language = b"" if study.language == ENGLISH else study.language.encode()
    return np.random.Generator(np.random.PCG64([study.params.seed, index, *language]))


def membership(study: SpectralStudy, items: ItemList) -> NDArray[np.bool_]:
    """Return [n, t] whether the reference list has the item for the country."""
    row = {code: i for i, code in enumerate(study.countries)}
    member = np.zeros((len(row), len(items.items)), dtype=np.bool_)
    for column, listed in enumerate(items.countries):
        member[[row[code] for code in listed if code in row], column] = True
    return member


def shuffled(study: SpectralStudy, answers: QuestionAnswers, question: SpectralQuestion) -> QuestionAnswers:
    """Return the answers with the countries shuffled, differently for every question and language."""
    own = nulls.shuffle_countries(answers.logprobs, _generator(study, question))
    return replace(answers, logprobs=own)


def from_list(study: SpectralStudy, question: SpectralQuestion) -> QuestionAnswers:
    """Return the answers of a look-up in the reference list, without a model (``nulls.list_frequency``)."""
    items = study.lists[question.item_list]
    h, n_tokens = nulls.list_frequency(len(study.countries), membership(study, items)), _ones(items)
    if study.is_sampled:
        n = counted(study.params.draws)
        return QuestionAnswers(drawn_from(h, n, study.params.seed), n_tokens, True, n)
    with np.errstate(divide="ignore"):  # an item of no chosen country is impossible: log 0
        return QuestionAnswers(np.log(h), n_tokens, is_distribution=True)


def from_draws(
    study: SpectralStudy, completions: Completions, question: SpectralQuestion
) -> QuestionAnswers | str:
    """Return the shares of the items among a model's written answers, or the reason why there are none."""
    shares, on_list = drawn(study, question, completions)
    if not np.isfinite(shares).any():
        return "no country has enough answers that name an item of the list"
    n_tokens = _ones(study.lists[question.item_list])
    return QuestionAnswers(shares, n_tokens, True, counted(study.params.draws), on_list)


def _ones(items: ItemList) -> NDArray[np.int64]:
    return np.ones(len(items.items), dtype=np.int64)


def domain_similarity(score: ModelScore) -> Mapping[str, FloatArray]:
    """Return each domain's [n, n] mean cosine matrix over its scored questions; NaN for a country that one of
    them has lost.
    """
    by_domain: dict[str, list[FloatArray]] = {}
    for s in score.questions.values():
        by_domain.setdefault(s.question.domain, []).append(s.similarity)
    return {domain: np.mean(matrices, axis=0) for domain, matrices in by_domain.items()}


def _fault(study: SpectralStudy, answers: QuestionAnswers) -> str | None:
    """Return why some country's answers are not a distribution, or None if all are, or enough of draws."""
    bad = np.flatnonzero(~np.isfinite(answers.logprobs.max(axis=1)))  # max() carries NaN
    if answers.n_draws:
        n = len(answers.logprobs)
        too_many = len(bad) > MOST_LOST * n or n - len(bad) < 2
        return f"{len(bad)} of {n} countries have too few answers that name an item" if too_many else None
    if not bad.size:
        return None
    names = list(study.countries.values())
    return f"NaN or no finite log-probability for {bad.size} countries, the first {names[bad[0]]}"


def _spread(values: FloatArray, scored: NDArray[np.bool_]) -> FloatArray:
    """Return the values at the places of the scored countries, NaN elsewhere."""
    out = np.full(len(scored), np.nan)
    out[scored] = values
    return out


def er_columns(q: QuestionScore) -> FloatArray:
    """Return [1 + r]: the estimate of ER, then the half-samples' values, rounded."""
    return rounded([q.er, *q.er_halves])


def sr_columns(q: QuestionScore) -> FloatArray:
    """Return [1 + r]: the estimate of SR, then the half-samples' values, rounded."""
    return rounded([q.sr, *q.sr_halves])
