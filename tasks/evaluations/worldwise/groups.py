"""Groups of samples that metric rows speak of, and the row of a mean over one. Pure.

Intervals draw whole scenarios again, since answers to one scenario are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Reasons
from tasks.metric_rows import OVERALL, Interval, Metric, Slice, scored, unscored
from tasks.metrics.clusters import cluster_mean_interval
from tasks.metrics.types import FloatArray, IntArray

Knobs = tuple[int, int]
"""(resamples, seed)"""

NOTHING = "nothing was scored"


class Group(NamedTuple):
    """Some cultures (rows of the arrays; 0: the baseline) crossed with some scenarios."""

    where: Slice
    cultures: IntArray
    scenarios: IntArray

    def of(self, table: np.ndarray) -> np.ndarray:
        """The group's part of an array [cultures, scenarios, ...]."""
        part: np.ndarray = table[np.ix_(self.cultures, self.scenarios)]
        return part

    def labels(self, repetitions: int) -> IntArray:
        """[cultures, scenarios, repetitions] the scenario of each sample."""
        shape = (len(self.cultures), len(self.scenarios), repetitions)
        return np.broadcast_to(self.scenarios[None, :, None], shape)


def knobs_of(study: Study) -> Knobs:
    """Resamples and seed."""
    return study.params.bootstrap, study.params.seed


def persona_groups(study: Study, kinds: Sequence[str]) -> Iterator[Group]:
    """Groups of answers with a persona.

    kinds: overall, culture, dimension, culture_dimension, scenario, category.
    """
    m = study.content
    personas, everything = np.arange(1, len(m.cultures)), np.arange(len(m.scenarios))
    dimensions = _members([s.dimension for s in m.scenarios])
    for kind in kinds:
        match kind:
            case "overall":
                yield Group(OVERALL, personas, everything)
            case "culture":
                for c in personas:
                    yield Group(("culture", m.cultures[c].culture), np.array([c]), everything)
            case "dimension":
                for dimension, members in dimensions.items():
                    yield Group(("dimension", dimension), personas, members)
            case "culture_dimension":
                for c in personas:
                    for dimension, members in dimensions.items():
                        name = f"{m.cultures[c].culture}:{dimension}"
                        yield Group(("culture_dimension", name), np.array([c]), members)
            case "scenario":
                for s in everything:
                    yield Group(("scenario", m.scenarios[s].scenario), personas, np.array([s]))
            case "category":
                for category, members in _members([s.category for s in m.scenarios]).items():
                    yield Group(("category", category), personas, members)
            case _:
                raise ValueError(f"unknown kind of group {kind!r}")


def culture_groups(study: Study) -> Iterator[Group]:
    """Each culture's answers, those of the baseline first."""
    everything = np.arange(len(study.content.scenarios))
    for c, culture in enumerate(study.content.cultures):
        yield Group(("culture", culture.culture), np.array([c]), everything)


def mean_row(
    metric: str, group: Group, values: FloatArray, reasons: Reasons, knobs: Knobs, null: float | None = None
) -> Metric:
    """The mean of a group's known samples of ``values`` [C, S, R], with its interval."""
    part = group.of(values)
    known = ~np.isnan(part)
    n, n_known = part.size, int(known.sum())
    if not n_known:
        return unscored(metric, group.where, main_reason(group.of(reasons)), n, null)
    labels = group.labels(part.shape[2])[known]
    interval = mean_interval(part[known], labels, knobs)
    return scored(metric, group.where, float(part[known].mean()), (n_known, n - n_known), interval, null)


def mean_interval(values: FloatArray, scenarios: IntArray, knobs: Knobs) -> Interval:
    """95 % interval of a mean over answers; None for a single scenario."""
    return cluster_mean_interval(values, scenarios, *knobs)


def mean_of(values: FloatArray) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def main_reason(reasons: Reasons) -> str:
    """The most frequent reason, of equally frequent ones the first in code-point order."""
    counts = Counter(reason for reason in reasons.ravel().tolist() if reason)
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else NOTHING


def _members(labels: Sequence[str]) -> dict[str, IntArray]:
    """label -> its positions, labels in code-point order."""
    table = np.array(labels)
    return {str(label): np.flatnonzero(table == label) for label in np.unique(table)}
