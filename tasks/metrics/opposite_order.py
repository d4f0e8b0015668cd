"""Do people and a judge put conversations in the same order? Counted over pairs."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics._arrays import as_pair
from tasks.metrics.agreement import cohen_kappa


class OppositeOrder(NamedTuple):
    """What pairs of conversations say.

    opposite: share of pairs that both order, and the other way round; range [0, 1], lower is better, 0.5 by
    chance. tied: share of all pairs in which one side sees no difference; they are left out of ``opposite``.
    kappa: Cohen's, of before, equal and after over all pairs; None where it is not defined. n: pairs.
    """

    opposite: float | None
    tied: float
    kappa: float | None
    n: int


def opposite_order(
    people: ArrayLike, judge: ArrayLike, groups: ArrayLike | None = None
) -> OppositeOrder | None:
    """Share of pairs that a judge orders as people do not (“Measuring meta-cultural competency”, 5.2).

    people, judge: m ratings each of the same conversations, in the same order. groups: m labels; only pairs
    within a group count, such as those that one person rated. None where there is no pair. The paper counts
    ties as aligned: its share is ``opposite * (1 - tied)``. Raises ValueError for a NaN or different lengths.
    """
    first, second = as_pair(people, judge)
    names = np.zeros(first.size) if groups is None else np.asarray(groups)
    if names.shape != first.shape:
        raise ValueError(f"{names.shape} groups for {first.shape} ratings: one each")
    members = (np.flatnonzero(names == name).tolist() for name in np.unique(names))
    pairs = [pair for own in members for pair in combinations(own, 2)]
    if not pairs:
        return None
    orders = [[int(np.sign(side[i] - side[j])) for i, j in pairs] for side in (first, second)]
    both = [(a, b) for a, b in zip(*orders, strict=True) if a and b]
    opposite = sum(a != b for a, b in both) / len(both) if both else None
    kappa = cohen_kappa(orders[0], orders[1], (-1, 0, 1))
    return OppositeOrder(opposite, 1 - len(both) / len(pairs), kappa, len(pairs))
