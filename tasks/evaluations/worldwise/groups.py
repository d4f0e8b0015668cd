"""Groups of samples that metric rows speak of, and the row of a mean over one. Pure.

Intervals are over scenarios, since answers to one scenario are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.evaluations.worldwise.requests import Study
from tasks.loop import rows as metric_rows
from tasks.loop.rows import OVERALL, Metric, Reasons, Slice
from tasks.metrics.intervals import UNBOUNDED
from tasks.metrics.types import FloatArray, IntArray


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


def sample_names(study: Study) -> np.ndarray:
    """[C, S, R] a name for every sample."""
    cultures, scenarios = study.content.cultures, study.content.scenarios
    names = [
        f"{culture.culture}:{scenario.scenario}:{repetition}"
        for culture in cultures
        for scenario in scenarios
        for repetition in range(study.params.repetitions)
    ]
    return np.array(names).reshape(study.shape)


def culture_groups(study: Study) -> Iterator[Group]:
    """Each culture's answers, those of the baseline first."""
    everything = np.arange(len(study.content.scenarios))
    for c, culture in enumerate(study.content.cultures):
        yield Group(("culture", culture.culture), np.array([c]), everything)


def mean_row(
    metric: str,
    group: Group,
    values: FloatArray,
    reasons: Reasons,
    null: float | None = None,
    bounds: tuple[float, float] = UNBOUNDED,
    items: np.ndarray | None = None,
) -> Metric:
    """The mean of a group's known samples of ``values`` [C, S, R], with its interval.

    items: [C, S, R] names of the samples, of a headline.
    """
    part = group.of(values)
    labels = group.labels(part.shape[2])
    names = None
    if items is not None and group.where == OVERALL:
        names = group.of(items)[..., : part.shape[2]]  # a null has one answer where a model has several
    return metric_rows.mean_row(metric, group.where, part, group.of(reasons), labels, bounds, null, names)


def _members(labels: Sequence[str]) -> dict[str, IntArray]:
    """label -> its positions, labels in code-point order."""
    table = np.array(labels)
    return {str(label): np.flatnonzero(table == label) for label in np.unique(table)}
