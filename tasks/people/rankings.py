"""What follows from people's rankings of domains: scores, profiles, reliability, and their own ceiling. Pure.

As the survey of "Measuring Meta-Cultural Competency" (2025, section 3.2): rank 1 is what is most common
across countries, so a LOW score is a HIGH spectral gap ratio.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.metrics.agreement import rank_agreement
from tasks.metrics.classification import f1_per_class
from tasks.metrics.intervals import mean_interval
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import Category, FloatArray, Interval
from tasks.people.answers import Rating

Rankings = Mapping[str, Mapping[str, float]]
"""Person -> domain -> rank, of those who ranked every domain."""


@dataclass(frozen=True)
class DomainScore:
    """What people say of a domain. ``sd``: sample standard deviation; None for one person.

    ``interval``: of the score, over people. ``pluralism``: share of those who annotated it who say high;
    ``category``: None, with the reason, where there are no such annotations or they are tied.
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
class Ceiling:
    """How well one half of the people predicts the other: means over random halves.

    Attributes:
        reliability: Pearson's r of the halves' scores, brought to the whole by Spearman and Brown.
        spearman, kendall: `rank_agreement` of one half's scores with the other's.
        macro_f1: of categories by one half's scores against the other's; None without pluralism.
        n_people, n_splits: that it rests on.
    """

    reliability: float | None
    spearman: float | None
    kendall: float | None
    macro_f1: float | None
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


def domain_scores(ranks: Rankings, pluralism: Mapping[str, Sequence[str]]) -> list[DomainScore]:
    """Scores of every domain, in its order by score, most common first.

    Args:
        pluralism: domain -> "high" or "low" of each who annotated how many answers there are in a country.

    High spectral gap ratio: a score below the median of all, as in table 1 of the paper. High effective rank:
    most say so.
    """
    if not ranks:
        return []
    names, table = _table(ranks)
    scores = table.mean(axis=0)
    sr_high = scores < np.median(scores)
    rows = []
    for n, name in enumerate(names):
        said = Counter(pluralism.get(name, ()))
        share = said["high"] / said.total() if said else None
        reason = "nobody annotated its pluralism" if share is None else "people are tied on its pluralism"
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


def ceiling(ranks: Rankings, is_er_high: Mapping[str, bool], n_splits: int = 200, seed: int = 0) -> Ceiling:
    """See `Ceiling`; all None for fewer than four people.

    Args:
        is_er_high: domain -> whether its effective rank should be high; {} where nobody said.

    Halves are of half the people each, so a model held against all people may come out above this.
    """
    n = len(ranks)
    if n < 4:
        return Ceiling(None, None, None, None, n, 0)
    names, table = _table(ranks)
    generator = np.random.Generator(np.random.PCG64(seed))
    values: dict[str, list[float]] = defaultdict(list)
    for _ in range(n_splits):
        order = generator.permutation(n)
        first, second = table[order[: n // 2]].mean(axis=0), table[order[n // 2 :]].mean(axis=0)
        if np.ptp(first) and np.ptp(second):
            r = float(np.corrcoef(first, second)[0, 1])
            values["reliability"].append(2 * r / (1 + r) if r > -1 else -1.0)
        # The first half stands for a model, whose spectral gap ratio is high where a score is low.
        if agreed := rank_agreement(-first, second):
            values["spearman"].append(agreed[0])
            values["kendall"].append(agreed[1])
        if is_er_high.keys() >= set(names):
            values["macro_f1"].append(_macro_f1(names, is_er_high, first, second))
    mean = {name: float(np.mean(own)) for name, own in values.items()}
    reliability, spearman, kendall, macro_f1 = (
        mean.get(name) for name in ("reliability", "spearman", "kendall", "macro_f1")
    )
    return Ceiling(reliability, spearman, kendall, macro_f1, n, n_splits)


def _macro_f1(
    names: Sequence[str], is_er_high: Mapping[str, bool], first: FloatArray, second: FloatArray
) -> float:
    """Of the categories by the first half's scores against those by the second's."""
    sides: list[list[Category]] = [
        [er_sr_category(is_er_high[name], bool(high)) for name, high in zip(names, half, strict=True)]
        for half in (first < np.median(first), second < np.median(second))
    ]
    truth, guess = sides[1], sides[0]
    return float(np.mean(list(f1_per_class(truth, guess, sorted(set(truth))).values())))


def _table(ranks: Rankings) -> tuple[list[str], FloatArray]:
    """Domains by name, and people x domains, people by name."""
    names = sorted({name for own in ranks.values() for name in own})
    return names, np.array([[ranks[person][name] for name in names] for person in sorted(ranks)])
