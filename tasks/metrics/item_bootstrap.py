"""Confidence interval of any statistic of items, by drawing the items again (Efron 1979)."""

from __future__ import annotations

from collections.abc import Callable

from tasks.metrics.bootstrap import bootstrap_indices, percentile_interval
from tasks.metrics.types import IntArray

__all__ = ["item_interval", "known_interval"]


def item_interval(
    statistic: Callable[[IntArray], float | None], n: int, replicates: int, seed: int, level: float = 0.95
) -> tuple[float, float] | None:
    """The central `level` share of a statistic over resamples of n items.

    statistic: takes n indices in 0..n-1, drawn with replacement, and returns its value on these items, or
    None where it has none. Returns (low, high) by `known_interval`; None for fewer than two items. The same
    seed gives the same interval for items in the same order: sort them by name first.
    """
    if n < 2:
        return None
    return known_interval([statistic(drawn) for drawn in bootstrap_indices(n, replicates, seed)], level)


def known_interval(replicates: list[float | None], level: float = 0.95) -> tuple[float, float] | None:
    """The central `level` share of the replicates that have a value; None where under half of them have.

    A resample without a value (all its ratings are equal, say) says nothing of where the value lies. Few of
    these do no harm; many would leave an interval of the lucky draws alone.
    """
    known = [value for value in replicates if value is not None]
    if len(known) < max(2, len(replicates) / 2):
        return None
    return percentile_interval(known, level)
