"""Numbers from people's ratings: agreement, scores of ranked domains, their reliability and ceiling. Pure.

People rank as in the survey of "Measuring Meta-Cultural Competency" (2025, section 3.2): rank 1 is the most
common across countries, so a LOW score means a HIGH spectral gap ratio.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tasks.metrics.agreement import Level, kendall_w, kendall_w_interval, krippendorff_alpha
from tasks.metrics.intervals import (
    CORRELATION,
    SHARE,
    UNBOUNDED,
    half_sample_interval,
    half_samples,
    jackknife,
    jackknife_groups,
    jackknife_interval,
    mean_interval,
)
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import Category, FloatArray, Interval
from tasks.people.answers import PersonRating
from tasks.people.study import FREE, FormField, PeopleStudy

ALL = "all"
"""Value of `language` in rows over all languages."""


@dataclass(frozen=True)
class FieldAgreementRow:
    """One number for one field, or the reason why it has none.

    Attributes:
        metric: krippendorff_alpha_<level>, or kendall_w for a ranking.
        null_value: value for raters who answer at random: 0, or 1 / m for W of m raters.
        n_units: items (for alpha, entries of items) that two people answered; n_unscored: the others.
        n_people: people who answered.
    """

    field: str
    language: str
    metric: str
    value: float | None
    unscored_reason: str | None
    ci_low: float | None
    ci_high: float | None
    null_value: float | None
    n_units: int
    n_unscored: int
    n_people: int


def agreement_rows(study: PeopleStudy, ratings: Iterable[PersonRating]) -> list[FieldAgreementRow]:
    """Return agreement per field: Krippendorff's alpha of choices; of rankings alpha and Kendall's W.

    Alpha is ordinal if the options rise, else nominal; W is the mean over ranked items. Rows are per language
    and, if there are several languages, over all. An interval leaves out one item at a time with all its
    entries; if everyone has the same single item, one person at a time. Free texts have no agreement.
    """
    fields = {field.name: field for field in study.fields if field.kind not in (*FREE, "chat")}
    groups: dict[tuple[str, str], list[PersonRating]] = defaultdict(list)
    for rating in ratings:
        if rating.field in fields:
            groups[rating.field, rating.language].append(rating)
            groups[rating.field, ALL].append(rating)
    languages = defaultdict(set)
    for name, language in groups:
        languages[name].add(language)
    rows = []
    for (name, language), own in sorted(groups.items()):
        if language == ALL and len(languages[name]) == 2:  # a single language gives the same row
            continue
        rows.append(_alpha_row(fields[name], language, own))
        if fields[name].kind == "ranking":
            rows.append(_concordance_row(name, language, own))
    return rows


def level_of(field: FormField) -> Level:
    """Return a field's level of measurement: ordinal if its values rise.

    It sets the cost of a disagreement.
    """
    return "ordinal" if field.is_ordered or field.kind in ("ranking", "likert", "confidence") else "nominal"


def _alpha_row(field: FormField, language: str, ratings: Sequence[PersonRating]) -> FieldAgreementRow:
    """Return Krippendorff's alpha over the units (item, entry)."""
    level = level_of(field)
    places = {option.value: float(n) for n, option in enumerate(field.options)}
    units = sorted({(r.item, r.entry) for r in ratings})
    table, people = _table(ratings, units, places if field.kind not in ("likert", "ranking") else {})
    pairable = np.flatnonzero(np.count_nonzero(~np.isnan(table), axis=1) >= 2)
    counts = (int(pairable.size), len(units) - int(pairable.size), len(people))
    value, interval = None, None
    reason: str | None = "no two people answered the same unit"
    if pairable.size == 1:
        reason = "only one unit has two answers: nothing to compare it with"
    elif pairable.size:
        value = krippendorff_alpha(table, level)
        reason = "the answers do not vary" if value is None else None
    if value is not None:
        items = np.array([units[u][0] for u in pairable])
        if len(set(items)) > 1:
            pairs = table[pairable]
            interval = jackknife(lambda rows: krippendorff_alpha(pairs[rows], level), items, UNBOUNDED)
        else:  # everyone rated the same fixed units: the people are the sample
            groups = jackknife_groups(len(people), seed=0)
            interval = jackknife_interval(value, (krippendorff_alpha(table[:, g], level) for g in groups))
    return _row(field.name, language, f"krippendorff_alpha_{level}", value, reason, interval, 0.0, counts)


def _concordance_row(name: str, language: str, ratings: Sequence[PersonRating]) -> FieldAgreementRow:
    """Return Kendall's W over people who ranked all entries of an item; the mean for several items."""
    tables = []
    for item in sorted({r.item for r in ratings}):
        own = [r for r in ratings if r.item == item]
        entries = sorted({r.entry for r in own})
        table, _ = _table(own, [(item, entry) for entry in entries], {})
        tables.append(table[:, ~np.isnan(table).any(axis=0)].T)
    known = [(table, w) for table in tables if (w := kendall_w(table) if table.size else None) is not None]
    counts = (len(known), len(tables) - len(known), len({r.annotator for r in ratings}))
    if not known:
        reason = "no item with three entries was ranked by two people"
        return _row(name, language, "kendall_w", None, reason, None, None, counts)
    values = [w for _, w in known]
    ends = kendall_w_interval(known[0][0]) if len(tables) == 1 else mean_interval(values, bounds=SHARE)
    null = float(np.mean([1 / len(table) for table, _ in known]))
    return _row(name, language, "kendall_w", float(np.mean(values)), None, ends, null, counts)


def _table(
    ratings: Sequence[PersonRating], units: Sequence[tuple[str, str]], places: Mapping[str, float]
) -> tuple[FloatArray, list[str]]:
    """Return units x people: index of the chosen option, or the number; NaN if missing."""
    people = sorted({r.annotator for r in ratings})
    row, column = {u: n for n, u in enumerate(units)}, {p: n for n, p in enumerate(people)}
    table = np.full((len(units), len(people)), np.nan)
    for r in ratings:
        table[row[r.item, r.entry], column[r.annotator]] = places[r.value] if places else float(r.value)
    return table, people


def _row(
    field: str,
    language: str,
    metric: str,
    value: float | None,
    reason: str | None,
    interval: Interval,
    null: float | None,
    counts: tuple[int, int, int],
) -> FieldAgreementRow:
    low, high = interval or (None, None)
    return FieldAgreementRow(field, language, metric, value, reason, low, high, null, *counts)


Rankings = Mapping[str, Mapping[str, float]]
"""Maps person -> domain -> rank, for people who ranked every domain."""
Pluralism = Mapping[str, Mapping[str, str]]
"""Maps person -> domain -> "high" or "low": many or few patterns across countries."""

NOT_ANNOTATED = "nobody annotated its pluralism"
WITHIN_ONE_COUNTRY = "the question was how many answers one country has, which is not effective rank"
"""Reason why studies with that question have no categories: the rank counts patterns across countries."""

_MANY = {"high": 1.0, "low": -1.0, None: 0.0}
_HALF_SAMPLES = 100
_MIN_PEOPLE = 8
"""Fewest people of whom a half-sample can be halved again."""
_BOUNDS = {
    "split_half_reliability": CORRELATION,
    "rank_spearman": CORRELATION,
    "rank_kendall": CORRELATION,
    "macro_f1": SHARE,
}


@dataclass(frozen=True)
class DomainScore:
    """The scores of a domain.

    ``sd``: sample standard deviation; None for one person. ``interval``: of the score, over people.
    ``pluralism``: share of annotators who see many patterns. ``category``: None, with the reason, if there
    are no such annotations or they are tied.
    """

    domain: str
    score: float
    sd: float | None
    interval: Interval
    n_people: int
    pluralism: float | None
    category: Category | None
    unscored_reason: str | None


@dataclass(frozen=True)
class CeilingRow:
    """One half of the people's prediction of the other: mean over random halves, or why there is none.

    Attributes:
        metric: split_half_reliability, Pearson's r of the halves' scores, corrected to full length by
            Spearman and Brown; rank_spearman and rank_kendall (tau-b) of one half's scores with the other's;
            macro_f1, of one half's categories against the other's.
        interval: over people. n_people, n_splits: number of people and of random splits used.
    """

    metric: str
    value: float | None
    interval: Interval
    unscored_reason: str | None
    n_people: int
    n_splits: int


def rankings(ratings: Iterable[PersonRating], field: str) -> dict[str, dict[str, float]]:
    """Return the complete rankings of a field that has one item.

    Raises ValueError for two items of one person.
    """
    ranks: dict[str, dict[str, float]] = defaultdict(dict)
    for rating in ratings:
        if rating.field == field:
            if rating.entry in ranks[rating.annotator]:
                raise ValueError(f"{rating.annotator} ranked {rating.entry} twice")
            ranks[rating.annotator][rating.entry] = float(rating.value)
    return dict(ranks)


def domain_scores(ranks: Rankings, pluralism: Pluralism, without: str = NOT_ANNOTATED) -> list[DomainScore]:
    """Return the scores of every domain, most common first.

    High spectral gap ratio: a score below the median of all, as in table 1 of the paper. High effective rank:
    most of those who annotated how many patterns there are across countries say "high". without: reason given
    for a domain that nobody annotated.
    """
    if not ranks:
        return []
    names, table = _ranks_table(ranks)
    scores = table.mean(axis=0)
    sr_high = scores < np.median(scores)
    rows = []
    for n, name in enumerate(names):
        votes = Counter(own[name] for own in pluralism.values() if name in own)
        share = votes["high"] / votes.total() if votes else None
        reason = without if share is None else "people are tied on its pluralism"
        is_clear = share is not None and share != 0.5
        category = er_sr_category(bool(share and share > 0.5), bool(sr_high[n])) if is_clear else None
        own = table[:, n]
        sd = float(own.std(ddof=1)) if own.size > 1 else None
        bounds = (1.0, float(len(names)))
        numbers = (float(scores[n]), sd, mean_interval(own, bounds=bounds), int(own.size), share)
        rows.append(DomainScore(name, *numbers, category, None if category else reason))
    return sorted(rows, key=lambda row: (row.score, row.domain))


def profiles(ranks: Rankings, groups: Mapping[str, str]) -> dict[str, dict[str, tuple[float, int]]]:
    """Return mean ranks by group, such as a region: group -> domain -> (mean rank, people).

    People without a group are left out.
    """
    members: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for person, own in ranks.items():
        if groups.get(person):
            members[groups[person]][person] = own
    result = {}
    for group, own_ranks in sorted(members.items()):
        names, table = _ranks_table(own_ranks)
        result[group] = {
            name: (float(m), len(table)) for name, m in zip(names, table.mean(axis=0), strict=True)
        }
    return result


def ceiling(
    ranks: Rankings, pluralism: Pluralism, n_splits: int = 200, seed: int = 0, without: str = NOT_ANNOTATED
) -> list[CeilingRow]:
    """Return four rows, always for the same four metrics of `CeilingRow`.

    Each half has half of the people, so a model compared with all of them may score above the ceiling. A
    split's F1 leaves out a domain if a half is tied on its pluralism or did not annotate it. The interval
    comes from the spread of half-samples of people. These are smaller and vary more, so it is rather wide.
    """
    n = len(ranks)
    if n < 4:
        reason = f"{n} people ranked: two halves need four"
        return [CeilingRow(metric, None, None, reason, n, 0) for metric in _BOUNDS]
    names, table = _ranks_table(ranks)
    many = np.array([[_MANY[pluralism.get(p, {}).get(name)] for name in names] for p in sorted(ranks)])
    values = _predicted(table, many, n_splits, seed)
    subsets = half_samples(n, _HALF_SAMPLES, seed)
    spread = [
        _predicted(table[half], many[half], n_splits // 4, seed + 1) for half in subsets if n >= _MIN_PEOPLE
    ]
    rows = []
    for metric, bounds in _BOUNDS.items():
        value, ends = values[metric], None
        reason = without if metric == "macro_f1" else "one half ranks all domains alike"
        if value is not None and spread:
            ends = half_sample_interval(value, [v[metric] for v in spread], n, bounds, at_least=_MIN_PEOPLE)
        why = reason if value is None else None
        rows.append(CeilingRow(metric, value, ends, why, n, n_splits))
    return rows


def _predicted(table: FloatArray, many: FloatArray, n_splits: int, seed: int) -> dict[str, float | None]:
    """Return each number's mean over random splits into halves; None if no split has it.

    table, many: people x domains; many is 1 for many answers, -1 for few, 0 for no annotation. This is
    `pearson`, `rank_agreement` and `macro_f1` over all splits at once.
    """
    order = np.random.Generator(np.random.PCG64(seed)).random((n_splits, len(table))).argsort(axis=1)
    is_first = order < len(table) // 2
    # splits x domains, of each half
    first, second = (half @ table / half.sum(axis=1, keepdims=True) for half in (is_first, ~is_first))
    # The first half stands for a model; its category of a domain is compared with the second half's.
    r = _row_correlations(first, second)
    x, y = np.triu_indices(table.shape[1], 1)
    signs = [np.sign(half[:, x] - half[:, y]) for half in (first, second)]
    tied = np.sqrt(np.prod([np.abs(sign).sum(axis=1) for sign in signs], axis=0))
    votes = [half @ many for half in (is_first, ~is_first)]
    clear = (votes[0] != 0) & (votes[1] != 0)
    guess, truth = (
        2 * (vote > 0) + (half < np.median(half, axis=1, keepdims=True))
        for vote, half in zip(votes, (first, second), strict=True)
    )
    f1 = []
    for category in range(4):
        own, other = (truth == category) & clear, (guess == category) & clear
        hits, named = (own & other).sum(axis=1), own.sum(axis=1) + other.sum(axis=1)
        # The mean leaves out a category that the second half never uses.
        f1.append(np.where(own.any(axis=1), 2 * hits / np.maximum(named, 1), np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        numbers = {
            "split_half_reliability": np.where(r > -0.5, 2 * r / (1 + r), np.where(r <= -0.5, -1.0, np.nan)),
            "rank_spearman": _row_correlations(rankdata(first, axis=1), rankdata(second, axis=1)),
            "rank_kendall": np.prod(signs, axis=0).sum(axis=1) / tied,
            "macro_f1": np.nansum(f1, axis=0) / (~np.isnan(f1)).sum(axis=0),
        }
    defined = {metric: own[np.isfinite(own)] for metric, own in numbers.items()}
    return {metric: float(own.mean()) if own.size else None for metric, own in defined.items()}


def _row_correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return Pearson's r of each row of x with that of y; NaN if either is constant."""
    dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    size = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    r: FloatArray = np.divide((dx * dy).sum(axis=1), size, out=np.full(len(x), np.nan), where=size > 1e-12)
    return r


def _ranks_table(ranks: Rankings) -> tuple[list[str], FloatArray]:
    """Return domain names and a table of ranks, people x domains, both sorted by name."""
    names = sorted({name for own in ranks.values() for name in own})
    return names, np.array([[ranks[person][name] for name in names] for person in sorted(ranks)])
