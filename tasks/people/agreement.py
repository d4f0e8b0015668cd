"""Numbers from people's ratings: agreement, scores of ranked domains, their reliability and ceiling. Pure.

The ranking is that of the survey of "Measuring Meta-Cultural Competency" (2025, section 3.2): rank 1 is what
is most common across countries, so a LOW score is a HIGH spectral gap ratio.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tasks.metrics.agreement import kendall_w, kendall_w_interval
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
from tasks.metrics.krippendorff_alpha import Level, krippendorff_alpha
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import Category, FloatArray, Interval
from tasks.people.answers import Rating
from tasks.people.study import FREE, FormField, Study

ALL = "all"
"""The language of rows over all languages."""


@dataclass(frozen=True)
class AgreementRow:
    """One number on one field, or the reason why there is none.

    Attributes:
        metric: krippendorff_alpha_<level>, or of a ranking kendall_w.
        null_value: what raters who answer at random have: 0, and 1 / m for W of m raters.
        n_units: items, or for alpha entries of items, that two people answered; n_unscored: other ones.
        n_people: who answered.
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


def agreement_rows(study: Study, ratings: Iterable[Rating]) -> list[AgreementRow]:
    """Krippendorff's alpha of every field with a menu, ordinal where it rises and nominal else; of a ranking
    alpha of the ranks and Kendall's W, as the mean over ranked items.

    Per language and, where there are several, over all of them. An interval leaves out item after item with
    all its entries; where everyone has the same one item, person after person. Free texts have no agreement.
    """
    fields = {field.name: field for field in study.fields if field.kind not in (*FREE, "chat")}
    groups: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.field in fields:
            groups[rating.field, rating.language].append(rating)
            groups[rating.field, ALL].append(rating)
    languages = defaultdict(set)
    for name, language in groups:
        languages[name].add(language)
    rows = []
    for (name, language), own in sorted(groups.items()):
        if language == ALL and len(languages[name]) == 2:  # the one language says the same
            continue
        rows.append(_alpha_row(fields[name], language, own))
        if fields[name].kind == "ranking":
            rows.append(_concordance_row(name, language, own))
    return rows


def level_of(field: FormField) -> Level:
    """The level of a field, which says what a disagreement costs: ordinal where values rise."""
    return "ordinal" if field.is_ordered or field.kind in ("ranking", "likert", "confidence") else "nominal"


def _alpha_row(field: FormField, language: str, ratings: Sequence[Rating]) -> AgreementRow:
    """Krippendorff's alpha over the units (item, entry)."""
    level = level_of(field)
    places = {option.value: float(n) for n, option in enumerate(field.options)}
    units = sorted({(r.item, r.entry) for r in ratings})
    table, people = _table(ratings, units, places if field.kind not in ("likert", "ranking") else {})
    pairable = np.flatnonzero(np.count_nonzero(~np.isnan(table), axis=1) >= 2)
    counts = (int(pairable.size), len(units) - int(pairable.size), len(people))
    value, interval = None, None
    reason: str | None = "nobody answered what another one did"
    if pairable.size == 1:
        reason = "people answered one thing together: there is nothing to tell apart"
    elif pairable.size:
        value = krippendorff_alpha(table, level)
        reason = "the answers do not vary" if value is None else None
    if value is not None:
        items = np.array([units[u][0] for u in pairable])
        if len(set(items)) > 1:
            pairs = table[pairable]
            interval = jackknife(lambda rows: krippendorff_alpha(pairs[rows], level), items, UNBOUNDED)
        else:  # everyone has the same things, which were not drawn: people were
            groups = jackknife_groups(len(people), seed=0)
            interval = jackknife_interval(value, (krippendorff_alpha(table[:, g], level) for g in groups))
    return _row(field.name, language, f"krippendorff_alpha_{level}", value, reason, interval, 0.0, counts)


def _concordance_row(name: str, language: str, ratings: Sequence[Rating]) -> AgreementRow:
    """Kendall's W by those who ranked all of an item: of one item, or the mean of several."""
    tables = []
    for item in sorted({r.item for r in ratings}):
        own = [r for r in ratings if r.item == item]
        entries = sorted({r.entry for r in own})
        table, _ = _table(own, [(item, entry) for entry in entries], {})
        tables.append(table[:, ~np.isnan(table).any(axis=0)].T)
    known = [(table, w) for table in tables if (w := kendall_w(table) if table.size else None) is not None]
    counts = (len(known), len(tables) - len(known), len({r.annotator for r in ratings}))
    if not known:
        reason = "no item that two people ranked, with three entries"
        return _row(name, language, "kendall_w", None, reason, None, None, counts)
    values = [w for _, w in known]
    ends = kendall_w_interval(known[0][0]) if len(tables) == 1 else mean_interval(values, bounds=SHARE)
    null = float(np.mean([1 / len(table) for table, _ in known]))
    return _row(name, language, "kendall_w", float(np.mean(values)), None, ends, null, counts)


def _table(
    ratings: Sequence[Rating], units: Sequence[tuple[str, str]], places: Mapping[str, float]
) -> tuple[FloatArray, list[str]]:
    """Units x people: places of options, or the numbers that were given; NaN where there is none."""
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
) -> AgreementRow:
    low, high = interval or (None, None)
    return AgreementRow(field, language, metric, value, reason, low, high, null, *counts)


Rankings = Mapping[str, Mapping[str, float]]
"""Person -> domain -> rank, of those who ranked every domain."""
Pluralism = Mapping[str, Mapping[str, str]]
"""Person -> domain -> "high" or "low": whether there are many patterns over all countries, or few."""

NOT_ANNOTATED = "nobody annotated its pluralism"
WITHIN_ONE_COUNTRY = "people were asked how many answers one country has, which is not effective rank"
"""Why studies that asked so have no categories: effective rank counts patterns across countries."""

_MANY = {"high": 1.0, "low": -1.0, None: 0.0}
_HALF_SAMPLES = 100
_MIN_PEOPLE = 8
"""Below it, half-samples cannot be halved."""
_BOUNDS = {
    "split_half_reliability": CORRELATION,
    "rank_spearman": CORRELATION,
    "rank_kendall": CORRELATION,
    "macro_f1": SHARE,
}


@dataclass(frozen=True)
class DomainScore:
    """The scores of a domain. ``sd``: sample standard deviation; None for one person.

    ``interval``: of the score, over people. ``pluralism``: share of those who annotated it who say that there
    are many patterns; ``category``: None, with the reason, where there are no such annotations or they are
    tied.
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
    """One half of the people's prediction of the other: the mean over random halves, or the reason why there
    is none.

    Attributes:
        metric: split_half_reliability, Pearson's r of the halves' scores, brought to the whole by Spearman
            and Brown; rank_spearman and rank_kendall (tau-b) of one half's scores with the other's; macro_f1,
            of one half's categories against the other's.
        interval: over people. n_people, n_splits: that it rests on.
    """

    metric: str
    value: float | None
    interval: Interval
    unscored_reason: str | None
    n_people: int
    n_splits: int


def rankings(ratings: Iterable[Rating], field: str) -> dict[str, dict[str, float]]:
    """The complete rankings of a field, which has one item. Raises ValueError for two items of one person."""
    ranks: dict[str, dict[str, float]] = defaultdict(dict)
    for rating in ratings:
        if rating.field == field:
            if rating.entry in ranks[rating.annotator]:
                raise ValueError(f"{rating.annotator} ranked {rating.entry} twice")
            ranks[rating.annotator][rating.entry] = float(rating.value)
    return dict(ranks)


def domain_scores(ranks: Rankings, pluralism: Pluralism, without: str = NOT_ANNOTATED) -> list[DomainScore]:
    """Scores of every domain, in its order by score, most common first.

    High spectral gap ratio: a score below the median of all, as in table 1 of the paper. High effective rank:
    most of those who annotated how many patterns there are across countries say "high". without: why a domain
    has no category where nobody annotated it.
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
    """Group, such as a region -> domain -> (mean rank, people); whoever has no group is in none."""
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
    """See `CeilingRow`: the same four numbers always.

    Halves are of half the people each, so a model held against all of them may come out above this. A domain
    on whose pluralism a half is tied, or says nothing, is left out of that split's F1. The interval is by the
    spread of half-samples of people, who are fewer and so agree less steadily: it is on the wide side.
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
        reason = without if metric == "macro_f1" else "all domains are alike to a half"
        if value is not None and spread:
            ends = half_sample_interval(value, [v[metric] for v in spread], n, bounds, at_least=_MIN_PEOPLE)
        why = reason if value is None else None
        rows.append(CeilingRow(metric, value, ends, why, n, n_splits))
    return rows


def _predicted(table: FloatArray, many: FloatArray, n_splits: int, seed: int) -> dict[str, float | None]:
    """Each number as the mean over random splits into halves; None where no split has one.

    table, many: people x domains; many is 1 for many answers, -1 for few, 0 for nothing said. The arithmetic
    is that of `pearson`, `rank_agreement` and `macro_f1`, of all splits at once.
    """
    order = np.random.Generator(np.random.PCG64(seed)).random((n_splits, len(table))).argsort(axis=1)
    is_first = order < len(table) // 2
    # splits x domains, of each half
    first, second = (half @ table / half.sum(axis=1, keepdims=True) for half in (is_first, ~is_first))
    # The first half stands for a model: what it says of a domain against what the second says.
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
        # A category that the second half has nowhere is no term of the mean.
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
    """Pearson's r of each row of x with that of y; NaN where one does not vary."""
    dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    size = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    r: FloatArray = np.divide((dx * dy).sum(axis=1), size, out=np.full(len(x), np.nan), where=size > 1e-12)
    return r


def _ranks_table(ranks: Rankings) -> tuple[list[str], FloatArray]:
    """Domains by name, and people x domains, people by name."""
    names = sorted({name for own in ranks.values() for name in own})
    return names, np.array([[ranks[person][name] for name in names] for person in sorted(ranks)])
