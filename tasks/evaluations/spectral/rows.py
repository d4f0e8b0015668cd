"""Makes rows of ``metric_value`` from the scores of one model. Pure.

An unscored question gets every row that a scored one has, with the reason, so that gaps are visible. High and
low are relative to the medians over all questions and models (section 3.3). These models are a frozen cohort:
adding a model changes no other model's categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np

from tasks.evaluations.spectral.panel import Spectra, panel_rows
from tasks.evaluations.spectral.people import interval_with_people
from tasks.evaluations.spectral.read import (
    MIN_COUNTRIES,
    ModelScore,
    among,
    country_subsets,
    domain_similarity,
    er_columns,
    sr_columns,
)
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tasks.loop.rows import OVERALL, Metric, Slice, item_points, resampled_points, scored, unscored
from tasks.metrics import agreement, classification, consensus, nulls
from tasks.metrics.intervals import (
    CORRELATION,
    POSITIVE,
    SHARE,
    half_sample_interval,
    jackknife_interval,
    jumping_interval,
    mean_interval,
)
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import CATEGORIES, BoolArray, Category, FloatArray, IntArray

UNIFORM_ER, UNIFORM_SR, UNIFORM_COMPETENCE = 1.0, float("inf"), 1.0
"""Score of a model that answers every country with the same distribution."""


def model_rows(
    study: SpectralStudy, score: ModelScore, split: Mapping[str, Split], look_up: float | None = None
) -> list[Metric]:
    """Return all metric rows of one model. look_up: ``er_sr_of`` of the look-up in the reference lists."""
    return [
        *question_rows(study, score, split),
        *category_rows(study, score, split),
        *correlation_rows(study, score, look_up),
        *rank_rows(study, score),
        *mass_rows(study, score),
        *country_rows(study, score),
        *paraphrase_rows(study, score),
    ]


def question_rows(study: SpectralStudy, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """Yield ER, SR and their categories for every question; intervals are over countries."""
    n = len(study.countries)
    for name, reason in score.unscored.items():
        where = ("question", name)
        yield unscored("effective_rank", where, reason, n, None if study.is_sampled else UNIFORM_ER)
        yield unscored("spectral_gap_ratio", where, reason, n, None if study.is_sampled else UNIFORM_SR)
        yield unscored("er_high", where, reason, n, 0.5)
        yield unscored("sr_high", where, reason, n, 0.5)
        yield unscored("top_item_share", where, reason, n)
        if study.is_sampled:
            yield unscored("answers_on_list", where, reason, n, 0.0)
    for name, q in score.questions.items():
        where = ("question", name)
        counts = (n - q.n_lost, q.n_lost)
        er_ci = jackknife_interval(q.er, q.er_left_out, POSITIVE, MIN_COUNTRIES)
        er_ci = er_ci and (max(er_ci[0], 1.0), min(er_ci[1], float(counts[0])))
        sr_ci = jackknife_interval(q.sr, q.sr_left_out, POSITIVE, MIN_COUNTRIES)
        sr_ci = sr_ci and (max(sr_ci[0], 1.0), sr_ci[1])
        yield scored("effective_rank", where, q.er, counts, er_ci, q.er_null)
        yield scored("spectral_gap_ratio", where, q.sr, counts, sr_ci, q.sr_null)
        n_items = len(study.lists[q.question.item_list].items)
        top = q.top[~np.isnan(q.top)]
        of_top = mean_interval(top, bounds=SHARE)
        yield scored("top_item_share", where, top.mean(), counts, of_top, 1 / n_items)
        if q.on_list is not None:
            yield _on_list(where, q.on_list, n)
        for metric in ("er_high", "sr_high"):
            if name not in split:
                yield unscored(metric, where, NO_MEDIAN, n, 0.5)
                continue
            high, *halves = getattr(split[name], metric).astype(np.float64)
            # The ends are labels: the interval includes another label if 2.5 % of the half-samples have it.
            ends = np.quantile(halves, [0.025, 0.975], method="nearest") if halves else None
            ci = None if ends is None else (min(high, ends[0]), max(high, ends[1]))
            yield scored(metric, where, high, (n, 0), ci, 0.5)


def _on_list(where: Slice, shares: FloatArray, n: int) -> Metric:
    """Return the share of written answers that name an item; the interval is over countries."""
    known = shares[~np.isnan(shares)]
    return scored(
        "answers_on_list",
        where,
        known.mean(),
        (len(known), n - len(known)),
        mean_interval(known, bounds=SHARE),
    )


def er_sr_of(score: ModelScore) -> float | None:
    """Return the correlation of ER and SR over a model's questions, -1 to 1; None if there is none."""
    questions = score.questions.values()
    return agreement.er_sr_correlation([q.er for q in questions], [q.sr for q in questions]).value


def correlation_rows(study: SpectralStudy, score: ModelScore, look_up: float | None) -> Iterator[Metric]:
    """Yield the correlation of ER and SR over questions (table 4).

    The null is a look-up in the reference lists, whose correlation is near -1 without any model.
    """
    n = len(study.questions)
    if not score.questions:
        yield unscored("er_sr_correlation", OVERALL, "no question was scored", n, look_up)
        return
    er = np.array([er_columns(q) for q in score.questions.values()])  # [questions, 1 + half-samples]
    sr = np.array([sr_columns(q) for q in score.questions.values()])
    first, *halves = [agreement.er_sr_correlation(x, y) for x, y in zip(er.T, sr.T, strict=True)]
    if first.value is None:
        yield unscored("er_sr_correlation", OVERALL, first.reason or "no correlation", n, look_up)
        return
    values = (half.value for half in halves)
    n_countries = len(study.countries)
    ci = half_sample_interval(first.value, values, n_countries, CORRELATION, MIN_COUNTRIES, is_fisher=True)
    yield scored("er_sr_correlation", OVERALL, first.value, (first.n_used, n - first.n_used), ci, look_up)


def rank_rows(study: SpectralStudy, score: ModelScore) -> Iterator[Metric]:
    """Yield the agreement of models' and people's orders of domains, by phrasing and on average; 0 if
    random.
    """
    ranked: list[FloatArray] = []
    n_ranked = 0
    for variant in sorted({q.variant for q in study.questions}):
        wanted = [q for q in study.questions if q.variant == variant]
        questions = [q for q in wanted if q.question in score.questions]
        values = _rank_agreement(score, questions)
        reason = f"{len(questions)} domains were scored: fewer than 3 distinct ranks"
        counts = (len(questions), len(wanted) - len(questions))
        yield from _rank_metrics(study, ("variant", str(variant)), values, reason, counts)
        if values is not None:
            ranked.append(values)
            n_ranked += len(questions)
    mean: FloatArray | None = np.mean(ranked, axis=0) if ranked else None
    counts = (n_ranked, len(study.questions) - n_ranked)
    yield from _rank_metrics(study, OVERALL, mean, "no phrasing has 3 domains of distinct ranks", counts)


def mass_rows(study: SpectralStudy, score: ModelScore) -> Iterator[Metric]:
    """Yield the probability on the country's own listed items, by domain and overall. The null uses another
    country's answer. Observations are (country, question) pairs. A list that names none of the countries
    (house numbers) gets a row with that reason and does not enter the overall mean.
    """
    codes = frozenset(study.countries)
    named = {name for name, items in study.lists.items() if any(c & codes for c in items.countries)}
    overall = [q for q in study.questions if q.item_list in named] or list(study.questions)
    groups: dict[Slice, list[SpectralQuestion]] = {OVERALL: overall}
    groups |= {("domain", domain): questions for domain, questions in _by_domain(study).items()}
    for where, questions in groups.items():
        n = len(questions) * len(study.countries)
        of_question = [score.questions[q.question] for q in questions if q.question in score.questions]
        if not any(q.item_list in named for q in questions):
            yield unscored("reference_mass", where, "the list has no item of any chosen country", n)
        elif not of_question:
            yield unscored("reference_mass", where, "no question was scored", n)
        else:
            table = np.array([q.mass for q in of_question])
            own, other = _country_mean(table), _country_mean(np.array([q.mass_null for q in of_question]))
            n_scored = int(np.count_nonzero(~np.isnan(table)))
            known = own[~np.isnan(own)]  # some country is named
            ci = mean_interval(known, bounds=SHARE)
            counts, null = (n_scored, n - n_scored), float(np.nanmean(other))
            points = item_points(list(study.countries), own) if where == OVERALL else None
            yield scored("reference_mass", where, known.mean(), counts, ci, null, points)


def country_rows(study: SpectralStudy, score: ModelScore) -> Iterator[Metric]:
    """Yield each country's competence by domain (Cultural Consensus Theory); observations are phrasings."""
    matrices = domain_similarity(score)
    _, groups = country_subsets(study)
    for domain, questions in _by_domain(study).items():
        loadings, left_out = _competence(matrices[domain], groups) if domain in matrices else (None, None)
        n = sum(q.question in score.questions for q in questions)
        reason = "no single pattern leads: the two largest eigenvalues coincide"
        reason = reason if n else "no question was scored"
        for i, code in enumerate(study.countries):
            where = ("domain_country", f"{domain}/{code}")
            if loadings is None or np.isnan(loadings[i]):
                why = reason if loadings is None else "a question has too few answers that name an item"
                yield unscored("competence", where, why, len(questions), UNIFORM_COMPETENCE)
            else:
                rest = () if left_out is None else left_out[:, i]
                ci = jackknife_interval(loadings[i], rest, CORRELATION, MIN_COUNTRIES)
                yield scored(
                    "competence", where, loadings[i], (n, len(questions) - n), ci, UNIFORM_COMPETENCE
                )


def _competence(
    similarity: FloatArray, groups: Sequence[IntArray]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return [n] loadings and [g, n] those without each group; NaN for a lost country, None without a
    pattern.
    """
    present = np.flatnonzero(~np.isnan(np.diag(similarity)))
    own = similarity[np.ix_(present, present)]
    rest = among(present, groups)
    loadings = consensus.competence(own) if len(own) > 1 else None
    left_out = None if loadings is None else consensus.competence_left_out(own, rest)
    if loadings is None or len(present) == len(similarity):
        return loadings, left_out
    everyone = np.full((1 + len(rest), len(similarity)), np.nan)
    everyone[0, present] = loadings
    if left_out is not None:
        everyone[1:, present] = left_out
    return everyone[0], None if left_out is None else everyone[1:]


def paraphrase_rows(study: SpectralStudy, score: ModelScore) -> Iterator[Metric]:
    """Yield how well the phrasings of a domain agree on the map of countries; 0 for shuffled countries.
    Observations are phrasings, and domains for the overall row.
    """
    _, all_groups = country_subsets(study)
    values: list[float] = []
    left_out: list[list[float | None]] = []
    domains = _by_domain(study)
    for domain, questions in domains.items():
        where = ("domain", domain)
        matrices = [
            score.questions[q.question].similarity for q in questions if q.question in score.questions
        ]
        if matrices:
            shared = np.flatnonzero(~np.isnan(np.mean(matrices, axis=0).diagonal()))
            matrices = [matrix[np.ix_(shared, shared)] for matrix in matrices]
            groups = among(shared, all_groups)
        value = consensus.paraphrase_agreement(matrices) if len(matrices) > 1 else None
        if value is None:
            reason = "needs two phrasings and three countries, and phrasings that tell countries apart"
            yield unscored("paraphrase_agreement", where, reason, len(questions), 0.0)
        else:
            values.append(value)
            rest = [consensus.paraphrase_agreement([a[np.ix_(g, g)] for a in matrices]) for g in groups]
            left_out.append(rest)
            counts = (len(matrices), len(questions) - len(matrices))
            ci = jackknife_interval(value, rest, CORRELATION, MIN_COUNTRIES)
            yield scored("paraphrase_agreement", where, value, counts, ci, 0.0)
    if values:
        counts = (len(values), len(domains) - len(values))
        mean = np.array(left_out, dtype=np.float64).mean(axis=0)  # None becomes NaN
        ci = jackknife_interval(float(np.mean(values)), mean, CORRELATION, MIN_COUNTRIES)
        yield scored("paraphrase_agreement", OVERALL, float(np.mean(values)), counts, ci, 0.0)
    else:
        reason = "no domain has two phrasings that tell countries apart"
        yield unscored("paraphrase_agreement", OVERALL, reason, len(domains), 0.0)


def _by_domain(study: SpectralStudy) -> dict[str, list[SpectralQuestion]]:
    domains: dict[str, list[SpectralQuestion]] = {}
    for q in study.questions:
        domains.setdefault(q.domain, []).append(q)
    return domains


def _rank_agreement(score: ModelScore, questions: Sequence[SpectralQuestion]) -> FloatArray | None:
    """Return [1 + r, 2] rho and tau-b of the estimate and the half-samples (NaN allowed there); None if
    either estimate is missing.
    """
    if not questions:
        return None
    human = [q.human_score for q in questions]
    ratios = np.array([sr_columns(score.questions[q.question]) for q in questions])
    pairs = [agreement.rank_agreement(column, human) for column in ratios.T]
    return np.array([p or (np.nan, np.nan) for p in pairs]) if pairs[0] else None


def _rank_metrics(
    study: SpectralStudy, where: Slice, values: FloatArray | None, reason: str, counts: tuple[int, int]
) -> Iterator[Metric]:
    for column, metric in enumerate(("rank_spearman", "rank_kendall")):
        if values is None:
            yield unscored(metric, where, reason, sum(counts), 0.0)
        else:
            value, *halves = values[:, column].tolist()
            ci = half_sample_interval(value, halves, len(study.countries), CORRELATION, MIN_COUNTRIES)
            points = None
            if where == OVERALL and metric == "rank_spearman":
                points = resampled_points("half", list(study.countries), country_subsets(study)[0], halves)
            yield scored(metric, where, value, counts, ci, 0.0, points)


def _country_mean(table: FloatArray) -> FloatArray:
    """Return the [n] mean over questions [q, n], NaN for a country that no question scores."""
    counted = (~np.isnan(table)).sum(axis=0)
    total = np.nansum(table, axis=0)
    mean: FloatArray = np.divide(total, counted, out=np.full(table.shape[1], np.nan), where=counted > 0)
    return mean


WITH_PEOPLE = "macro_f1_with_people"
METRICS = ("macro_f1", *(f"f1_{category}" for category in CATEGORIES))

UNIFORM_DRAWS = 10_000
NO_MEDIAN = "no model has a score to take the medians of"


class Split(NamedTuple):
    """High or low for the estimate (entry 0) and for every half-sample of countries (later entries)."""

    er_high: BoolArray
    sr_high: BoolArray


def splits(
    scores: Mapping[str, ModelScore], against: Mapping[str, ModelScore]
) -> dict[str, dict[str, Split]]:
    """Split every question of ``scores`` at the pooled medians of the models in ``against``. Half-sample b is
    split at the medians of all models' half-sample b, which has the same countries. If ``against`` has no
    scores, there is no median and no question has a split.
    """
    pool = [q for s in against.values() for q in s.questions.values()]
    if not pool:
        return {model: {} for model in scores}
    er_median = classification.lower_median(np.array([er_columns(q) for q in pool]))
    sr_median = classification.lower_median(np.array([sr_columns(q) for q in pool]))
    return {
        model: {
            name: Split(er_columns(q) > er_median, sr_columns(q) > sr_median)
            for name, q in score.questions.items()
        }
        for model, score in scores.items()
    }


def category_rows(study: SpectralStudy, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """Yield macro-F1 and the F1 of each class against people's categories; the null is the mean of
    guessing.
    """
    questions = [q for q in study.questions if q.question in split]
    lost = len(study.questions) - len(questions)
    if not questions:
        reason = NO_MEDIAN if score.questions else "no question was scored"
        for metric in (*METRICS, WITH_PEOPLE):
            yield unscored(metric, OVERALL, reason, lost)
        return
    human = _human(questions)
    predicted = [_categories(split[q.question])[0] for q in questions]
    errors = classification.jump_error(human, predicted)
    columns = zip(*(_categories(split[q.question]) for q in questions), strict=True)  # 1 + half-samples
    f1 = _with_macro([classification.f1_per_class(human, column, sorted(set(human))) for column in columns])
    guessing = _guessing(questions, study.params.seed)
    for metric in METRICS:
        if metric in f1:
            value, *halves = f1[metric].tolist()
            error = errors[metric.removeprefix("f1_")]
            n = len(study.countries)
            ci = jumping_interval(value, halves, n, error, MIN_COUNTRIES)
            points = None
            if metric == "macro_f1":
                points = resampled_points("half", list(study.countries), country_subsets(study)[0], halves)
            yield scored(metric, OVERALL, value, (len(questions), lost), ci, guessing[metric].mean(), points)
        else:
            yield _absent(metric, len(study.questions))
    null = float(guessing["macro_f1"].mean())
    yield _with_people(study, questions, predicted, f1["macro_f1"], (len(questions), lost), null)


def _with_people(
    study: SpectralStudy,
    questions: Sequence[SpectralQuestion],
    predicted: Sequence[Category],
    values: FloatArray,
    counts: tuple[int, int],
    null: float,
) -> Metric:
    """Return macro-F1 with an interval over countries and over the people whose ranks give the categories."""
    found = interval_with_people(questions, predicted, values, len(study.countries), study.params.seed)
    if isinstance(found, str):
        return unscored(WITH_PEOPLE, OVERALL, found, sum(counts), null)
    return scored(WITH_PEOPLE, OVERALL, float(values[0]), counts, found, null)


def robustness_rows(
    study: SpectralStudy, score: ModelScore, cohort: Mapping[str, Mapping[str, Spectra]]
) -> list[Metric]:
    """Return a model's macro-F1 under other choices (``panel``).

    cohort: model -> its spectra, of the models whose medians are used.
    """
    questions = {q.question: q for q in study.questions}
    null = float(_guessing(study.questions, study.params.seed)["macro_f1"].mean())
    return list(panel_rows(questions, score.panel, cohort, study.params.normalisation, null))


def constant_rows(study: SpectralStudy, model: str) -> list[Metric]:
    """Return the rows of a predictor that sees no answers: uniform categories, or LH everywhere.

    The interval of the first is the central 95 % of its draws.

    Raises:
        ValueError: the model is neither ``null:uniform-by-domain`` nor ``null:always-LH``.
    """
    human = _human(study.questions)
    guessing = _guessing(study.questions, study.params.seed)
    if model == "null:always-LH":
        draws = _with_macro([classification.f1_per_class(human, ["LH"] * len(human), sorted(set(human)))])
    elif model == "null:uniform-by-domain":
        draws = guessing
    else:
        raise ValueError(
            f"{model!r} is not a constant model; known: null:always-LH and null:uniform-by-domain"
        )
    rows = []
    for metric in METRICS:
        if metric in draws:
            low, high = np.quantile(draws[metric], [0.025, 0.975])
            value, null = draws[metric].mean(), guessing[metric].mean()
            rows.append(scored(metric, OVERALL, value, (len(human), 0), (low, high), null))
        else:
            rows.append(_absent(metric, len(human)))
    return rows


def _guessing(questions: Sequence[SpectralQuestion], seed: int) -> dict[str, FloatArray]:
    """Return metric -> [draws] scores of one category per domain, drawn uniformly at random."""
    domains = [list(g) for _, g in groupby(sorted(questions, key=_domain), key=_domain)]
    truth, weight = [_human(questions)[0] for questions in domains], [len(questions) for questions in domains]
    f1 = nulls.uniform_category_f1(truth, weight, UNIFORM_DRAWS, seed)
    return {"macro_f1": np.mean(list(f1.values()), axis=0)} | {f"f1_{c}": f1[c] for c in f1}


def _with_macro(f1: Sequence[Mapping[str, float]]) -> dict[str, FloatArray]:
    """Return metric -> its values, from several predictions' F1 by class; macro-F1 is the mean over
    classes.
    """
    table = {c: np.array([each[c] for each in f1]) for c in f1[0]}
    return {"macro_f1": np.mean(list(table.values()), axis=0)} | {f"f1_{c}": table[c] for c in table}


def _absent(metric: str, n: int) -> Metric:
    return unscored(metric, OVERALL, "no scored question has this human category", n)


def _human(questions: Sequence[SpectralQuestion]) -> list[Category]:
    """Return people's category of each question's domain."""
    return [cast(Category, q.human_category) for q in questions]


def _domain(question: SpectralQuestion) -> str:
    return question.domain


def _categories(split: Split) -> list[Category]:
    """Return [1 + r]: the category of the estimate, then of every half-sample."""
    return [er_sr_category(bool(er), bool(sr)) for er, sr in zip(*split, strict=True)]
