"""Makes the rows that compare a model's answers in several languages. Pure.

A map of a domain is the matrix of cosines between countries, mean over its wordings. Only domains and
questions that two languages share are compared. A model that translates the question first, or has one store
of facts for all languages, agrees with itself; these numbers do not tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from tasks.evaluations.spectral.read import (
    MIN_COUNTRIES,
    ModelScore,
    country_subsets,
    domain_similarity,
    er_columns,
    sr_columns,
)
from tasks.evaluations.spectral.study import ENGLISH, SpectralStudy
from tasks.loop.rows import OVERALL, Metric, Slice, resampled_points, scored, unscored
from tasks.metrics import language_agreement as maths
from tasks.metrics.comparison import holm
from tasks.metrics.intervals import CORRELATION, half_sample_interval, jackknife_interval, mean_interval
from tasks.metrics.types import FloatArray, IntArray

Scores = Mapping[str, ModelScore]
"""Language -> a model's scores in it."""

NO_MAP = "the languages share no domain whose map of three or more countries varies"
NO_ORDER = "the languages share fewer than 3 questions or domains of different values"
NOT_LISTED = "the lists have nothing for the country in both languages"
ALONE = "needs two wordings of each domain whose numbers differ"


def in_language(code: str, row: Metric) -> Metric:
    """Return the row of a number in one language, as a slice beside the study's own."""
    overall = (row.slice_kind, row.slice) == OVERALL
    kind, name = ("language", code) if overall else (f"language_{row.slice_kind}", f"{code}/{row.slice}")
    return row._replace(slice_kind=kind, slice=name, points=None)


def across_rows(study: SpectralStudy, scores: Scores) -> list[Metric]:
    """Return how far a model's answers in the run's languages agree, and what a country's own one gains."""
    return [*map_rows(study, scores), *order_rows(study, scores), *own_language_rows(study, scores)]


def map_rows(study: SpectralStudy, scores: Scores) -> Iterator[Metric]:
    """Yield the agreement of maps: overall, by domain, by pair of languages, and both; 0 if shuffled.

    Observations are pairs of languages in a domain. The p-values are of shuffled countries.
    """
    languages, maps = list(study.in_languages), {code: domain_similarity(s) for code, s in scores.items()}
    domains = [
        domain
        for domain in dict.fromkeys(q.domain for q in study.questions)
        if sum(any(q.domain == domain for q in each.questions) for each in study.in_languages.values()) > 1
    ]
    tables = [[maps[code].get(domain) for code in languages] for domain in domains]
    groups = country_subsets(study)[1]
    found = _agreements(tables, len(languages))
    left_out = [
        _agreements([[_part(one, group) for one in domain] for domain in tables], len(languages))
        for group in groups
    ]
    pairs = list(combinations(range(len(languages)), 2))
    names = {(a, b): f"{languages[a]}/{languages[b]}" for a, b in pairs}
    places: dict[Slice, list[tuple[int, int, int]]] = {
        OVERALL: [(d, a, b) for d in range(len(domains)) for a, b in pairs]
    }
    places |= {("domain", domain): [(d, a, b) for a, b in pairs] for d, domain in enumerate(domains)}
    places |= {("language_pair", names[pair]): [(d, *pair) for d in range(len(domains))] for pair in pairs}
    places |= {
        ("language_pair_domain", f"{names[pair]}/{domain}"): [(d, *pair)]
        for pair in pairs
        for d, domain in enumerate(domains)
    }
    for where, cells in places.items():
        asked = [cell for cell in cells if all(_has(study, languages[i], domains[cell[0]]) for i in cell[1:])]
        values = np.array([found[cell] for cell in asked])
        known = ~np.isnan(values)
        if not known.any():
            yield unscored("language_agreement", where, NO_MAP, len(asked), 0.0)
            continue
        kept = [cell for cell, there in zip(asked, known, strict=True) if there]
        rest = [float(np.mean([table[cell] for cell in kept])) for table in left_out]
        value, counts = float(values[known].mean()), (len(kept), len(asked) - len(kept))
        ci = jackknife_interval(value, rest, CORRELATION, MIN_COUNTRIES)
        points = (
            resampled_points("left_out", list(study.countries), groups, rest) if where == OVERALL else None
        )
        yield scored("language_agreement", where, value, counts, ci, 0.0, points)
    test = maths.map_test(tables, study.params.seed)
    p_values = {OVERALL: test.overall} | {
        ("language_pair", names[pair]): None if np.isnan(test.pairs[pair]) else float(test.pairs[pair])
        for pair in pairs
    }
    for where, p in p_values.items():
        yield (
            unscored("language_agreement_p", where, NO_MAP, 1)
            if p is None
            else scored("language_agreement_p", where, p, (1, 0))
        )


def order_rows(study: SpectralStudy, scores: Scores) -> Iterator[Metric]:
    """Yield the agreement of effective ranks over questions, and of the order of domains by gap ratio, by
    pair of languages and on average. Observations are questions, and domains.

    Long lists give more patterns in every language, whatever a model knows. So the null is the agreement of
    one language's numbers with those of the other after the countries of each item are shuffled apart, mean
    over both directions.
    """
    pairs = list(combinations(study.in_languages, 2))
    for metric in ("er_agreement", "order_agreement"):
        columns = {code: _columns(metric, score) for code, score in scores.items()}
        values: list[FloatArray] = []
        nulls: list[float] = []
        for first, second in pairs:
            where = ("language_pair", f"{first}/{second}")
            asked = _asked(metric, study.in_languages[first]) & _asked(metric, study.in_languages[second])
            shared = sorted(asked & columns[first].keys() & columns[second].keys())
            x, y = (np.array([columns[code][name] for name in shared]) for code in (first, second))
            of_pair, counts = _orders(x, y), (len(shared), len(asked) - len(shared))
            if of_pair is None:
                yield unscored(metric, where, NO_ORDER, len(asked))
                continue
            null = [maths.spearman(one[:, 0], other[:, -1]) or 0.0 for one, other in ((x, y), (y, x))]
            yield _order_row(study, metric, where, of_pair, counts, float(np.mean(null)))
            values.append(of_pair)
            nulls.append(float(np.mean(null)))
        if values:
            counts = (len(values), len(pairs) - len(values))
            yield _order_row(study, metric, OVERALL, np.mean(values, axis=0), counts, float(np.mean(nulls)))
        else:
            yield unscored(metric, OVERALL, NO_ORDER, len(pairs))


def own_language_rows(study: SpectralStudy, scores: Scores) -> Iterator[Metric]:
    """Yield what asking in a country's main language adds to the probability of its own items, against
    English; by country, with p-values adjusted by Holm for all countries, and on average.

    The mean is over domains, then wordings; wordings vary and domains are given. The null is the mean gain,
    in that language, of the countries whose main language it is not. Observations are questions, and
    countries for the overall row.
    """
    codes = list(study.countries)
    asked = [place for place, country in enumerate(codes) if study.spoken.get(country) in study.others]
    gains = {code: _gains(study, scores, code) for code in study.others} if asked else {}
    own: dict[int, maths.Gain | None] = {}
    nulls: list[float] = []
    for place in asked:
        language = study.spoken[codes[place]]
        cells, where = gains[language][place], ("country", codes[place])
        others = [
            float(np.mean([values.mean() for values in gains[language][other]]))
            for other in range(len(codes))
            if study.spoken.get(codes[other]) != language and gains[language][other]
        ]
        null, n = float(np.mean(others)) if others else None, len(study.others[language].questions)
        gain = own[place] = maths.stratified_gain(cells) if cells else None
        if gain is None:
            yield unscored("own_language_advantage", where, NOT_LISTED, n, null)
        else:
            used = sum(values.size for values in cells)
            yield scored("own_language_advantage", where, gain.value, (used, n - used), gain.interval, null)
            nulls += [] if null is None else [null]
    tested = {place: gain.p_value for place, gain in own.items() if gain and gain.p_value is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True)) if tested else {}
    for place, gain in own.items():
        where = ("country", codes[place])
        if place in adjusted:
            yield scored("own_language_p", where, float(adjusted[place]), (1, 0))
        else:
            yield unscored("own_language_p", where, ALONE if gain else NOT_LISTED, 1)
    known = np.array([gain.value for gain in own.values() if gain])
    if known.size:
        counts = (known.size, len(asked) - known.size)
        null = float(np.mean(nulls)) if nulls else None
        yield scored(
            "own_language_advantage",
            OVERALL,
            known.mean(),
            counts,
            mean_interval(known, bounds=CORRELATION),
            null,
        )
    elif ENGLISH in study.in_languages:
        reason = (
            NOT_LISTED if asked else "no chosen country has one of the run's other languages as its main one"
        )
        yield unscored("own_language_advantage", OVERALL, reason, len(asked))


def _gains(study: SpectralStudy, scores: Scores, code: str) -> list[list[FloatArray]]:
    """Return, by country, for each domain that lists something for it, the gain of each wording."""
    by_domain: dict[str, list[FloatArray]] = {}
    for q in study.others[code].questions:
        there, english = (scores[each].questions.get(q.question) for each in (code, ENGLISH))
        if there and english:
            by_domain.setdefault(q.domain, []).append(there.mass - english.mass)
    tables = [np.array(rows) for rows in by_domain.values()]  # [wordings, countries]
    return [
        [values[~np.isnan(values)] for table in tables if not np.isnan(values := table[:, place]).all()]
        for place in range(len(study.countries))
    ]


def _agreements(tables: list[list[FloatArray | None]], n_languages: int) -> FloatArray:
    """Return [domains, l, l] agreements of maps."""
    found = [maths.map_agreement(domain) for domain in tables]
    return np.array(found).reshape(-1, n_languages, n_languages)


def _part(matrix: FloatArray | None, members: IntArray) -> FloatArray | None:
    return None if matrix is None else matrix[np.ix_(members, members)]


def _has(study: SpectralStudy, code: str, domain: str) -> bool:
    return any(q.domain == domain for q in study.in_languages[code].questions)


def _columns(metric: str, score: ModelScore) -> dict[str, FloatArray]:
    """Return question -> [1 + r + 1] effective ranks, or domain -> mean of the logarithms of gap ratios: the
    estimate, the half-samples', and that after the countries of each item are shuffled.
    """
    if metric == "er_agreement":
        return {name: np.append(er_columns(q), q.er_mixed) for name, q in score.questions.items()}
    by_domain: dict[str, list[FloatArray]] = {}
    for q in score.questions.values():
        by_domain.setdefault(q.question.domain, []).append(np.log(np.append(sr_columns(q), q.sr_mixed)))
    return {domain: np.mean(rows, axis=0) for domain, rows in by_domain.items()}


def _asked(metric: str, study: SpectralStudy) -> set[str]:
    return {q.question if metric == "er_agreement" else q.domain for q in study.questions}


def _orders(first: FloatArray, second: FloatArray) -> FloatArray | None:
    """Return [1 + r] Spearman's rho over the rows of ``_columns``; None if the estimate has none, NaN in a
    half-sample.
    """
    if len(first) < 3:
        return None
    values = [maths.spearman(x, y) for x, y in zip(first.T[:-1], second.T[:-1], strict=True)]
    return None if values[0] is None else np.array([np.nan if v is None else v for v in values])


def _order_row(
    study: SpectralStudy,
    metric: str,
    where: Slice,
    values: FloatArray,
    counts: tuple[int, int],
    null: float,
) -> Metric:
    """Return the row; that of few domains' order has no interval, because none holds (docs/intervals.md)."""
    value, *halves = values.tolist()
    n = len(study.countries)
    ci = half_sample_interval(value, halves, n, CORRELATION, MIN_COUNTRIES, is_fisher=True)
    return scored(metric, where, value, counts, ci if metric == "er_agreement" else None, null)
