"""What follows from people's rankings of domains: scores, profiles, reliability, and their own ceiling. Pure.

As the survey of "Measuring Meta-Cultural Competency" (2025, section 3.2): rank 1 is what is most common
across countries, so a LOW score is a HIGH spectral gap ratio.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tasks.metrics.intervals import CORRELATION, SHARE, half_sample_interval, half_samples, mean_interval
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import Category, FloatArray, Interval
from tasks.people.answers import Rating

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
    """What people say of a domain. ``sd``: sample standard deviation; None for one person.

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
    """How well one half of the people predicts the other: the mean over random halves, or why there is none.

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
    names, table = _table(ranks)
    scores = table.mean(axis=0)
    sr_high = scores < np.median(scores)
    rows = []
    for n, name in enumerate(names):
        said = Counter(own[name] for own in pluralism.values() if name in own)
        share = said["high"] / said.total() if said else None
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
        names, table = _table(own_ranks)
        result[group] = {
            name: (float(m), len(table)) for name, m in zip(names, table.mean(axis=0), strict=True)
        }
    return result


def ceiling(
    ranks: Rankings,
    pluralism: Pluralism,
    n_splits: int = 200,
    seed: int = 0,
    without: str = NOT_ANNOTATED,
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
    names, table = _table(ranks)
    many = np.array([[_MANY[pluralism.get(p, {}).get(name)] for name in names] for p in sorted(ranks)])
    values = _predicted(table, many, n_splits, seed)
    subsets = half_samples(n, _HALF_SAMPLES, seed)
    spread = [
        _predicted(table[kept], many[kept], n_splits // 4, seed + 1) for kept in subsets if n >= _MIN_PEOPLE
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
    kept = {metric: own[np.isfinite(own)] for metric, own in numbers.items()}
    return {metric: float(own.mean()) if own.size else None for metric, own in kept.items()}


def _row_correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's r of each row of x with that of y; NaN where one does not vary."""
    dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    size = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    r: FloatArray = np.divide((dx * dy).sum(axis=1), size, out=np.full(len(x), np.nan), where=size > 1e-12)
    return r


def _table(ranks: Rankings) -> tuple[list[str], FloatArray]:
    """Domains by name, and people x domains, people by name."""
    names = sorted({name for own in ranks.values() for name in own})
    return names, np.array([[ranks[person][name] for name in names] for person in sorted(ranks)])
