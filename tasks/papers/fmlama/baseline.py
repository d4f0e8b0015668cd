"""Dishes by origin, and the baseline that names the most common ingredients for each of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.metrics.ranking import (
    average_precision,
    frequency_scores,
    seed_dumb_average_precision,
    top_mask,
)
from tasks.metrics.types import BoolArray, FloatArray
from tasks.papers.fmlama.files import FileDish
from tasks.papers.fmlama.options import FmlamaReproduced
from tasks.papers.reproduction import Rows

ALL = "ALL"
UNITED_KINGDOM = "United Kingdom"
RANDOM_RANKINGS = 20
"""For the null of the baseline."""


def origin_groups(rows: Rows, england: str) -> dict[str, str]:
    """Origin -> group of the paper. Apart: parts of the U.K. are in none, as files name them as origins."""
    groups = {str(row["origin"]): str(row["origin_group"]) for row in rows}
    if england == "uk":
        return groups
    kingdom = groups.get(UNITED_KINGDOM)
    return {o: group for o, group in groups.items() if group != kingdom or o == UNITED_KINGDOM}


@dataclass(frozen=True)
class DishTable:
    """Dishes x candidates; columns are in the order that settles ties.

    Attributes:
        group: [dishes] group of the paper, "" for none.
        relevant: [dishes, candidates] the ingredients of each.
    """

    group: np.typing.NDArray[np.str_]
    relevant: BoolArray

    @classmethod
    def of(
        cls, dishes: Sequence[FileDish], groups: Mapping[str, str], options: FmlamaReproduced
    ) -> DishTable:
        """Of those that the options take."""
        kept = [dish for dish in dishes if options.dishes[0] == "all" or dish.origin in groups]
        names = dict.fromkeys(name for dish in kept for name in dish.ingredients)
        ordered = list(names) if options.ties[0] == "file" else sorted(names)
        column = {name: i for i, name in enumerate(ordered)}
        relevant = np.zeros((len(kept), len(column)), dtype=np.bool_)
        for row, dish in enumerate(kept):
            relevant[row, [column[name] for name in dish.ingredients]] = True
        group = np.array([groups.get(dish.origin, "") for dish in kept], dtype=np.str_)
        return cls(group, relevant)

    def members(self, origin: str) -> BoolArray:
        """[dishes] those of a group, or all."""
        return np.ones(len(self.group), dtype=np.bool_) if origin == ALL else np.asarray(self.group == origin)


def baseline(table: DishTable, options: FmlamaReproduced) -> tuple[FloatArray, FloatArray]:
    """[dishes] the baseline's precision by the rule of the options, and that of ten ingredients at random."""
    scores = frequency_scores(table.relevant, leave_one_out=options.own_dish == "left-out")
    own = _precision(scores, table.relevant, options)
    generator = np.random.Generator(np.random.PCG64(options.seed))
    random = [
        _precision(generator.random(table.relevant.shape), table.relevant, options)
        for _ in range(RANDOM_RANKINGS)
    ]
    return own, np.mean(random, axis=0)


def _precision(scores: FloatArray, relevant: BoolArray, options: FmlamaReproduced) -> FloatArray:
    k = min(options.top, relevant.shape[1])
    named = top_mask(scores, k)
    if options.baseline[0] == "equation-4":
        return np.asarray(average_precision(np.where(named, scores, -np.inf), relevant))
    by_hits = seed_dumb_average_precision(scores, relevant, k)
    if options.baseline[0] == "hits":
        return by_hits
    n_hits = np.count_nonzero(named & relevant, axis=1)
    divided: FloatArray = by_hits * n_hits / np.count_nonzero(relevant, axis=1)
    return divided
