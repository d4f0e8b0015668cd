"""Requests for texts and for judges' verdicts on them: for recipes, and for evaluations that need more.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.rows import Metric, Reasons, Slice, difference_row, mean_row
from tasks.metrics.types import BoolArray, FloatArray

Bounds = tuple[float, float]


def to_candidates(params: Any, topic: str, label: str, prompts: Iterable[Prompt]) -> Prompts:
    """Return a request to candidates, with the params' sampling and batch."""
    sampling = Sampling(temperature=params.temperature, max_tokens=params.max_tokens, seed=params.seed)
    return Prompts(topic=topic, label=label, batch=params.batch, prompts=list(prompts), sampling=sampling)


class Prompted:
    """The part of a study that sends prompts.

    Attributes:
        params: with the knobs of sampling, and ``batch``.
    """

    params: Any

    @cached_property
    def prompts(self) -> Mapping[Any, Prompt]:
        """Return all prompts by key: first the name of their request, last the item."""
        raise NotImplementedError

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the requests, in the order of the prompts: (condition,), (benchmark, mode)."""
        return tuple(dict.fromkeys(key[:-1] for key in self.prompts))

    def request(self, *part: str) -> Prompts:
        """Return the request to candidates of one part."""
        own = (prompt for key, prompt in self.prompts.items() if key[:-1] == part)
        return to_candidates(self.params, part[0], " ".join(part), own)

    def requests(self) -> list[Prompts]:
        """Return all requests to candidates."""
        return [self.request(*part) for part in self.parts]

    def completed(self, completions: Completions) -> dict[Any, Completion]:
        """Return the stored completions by key."""
        stored = {part: completions(self.request(*part)) for part in self.parts}
        own = ((key, stored[key[:-1]].get(prompt.id)) for key, prompt in self.prompts.items())
        return {key: completion for key, completion in own if completion}


@dataclass(frozen=True)
class ConditionScores:
    """One model's scores in one condition, in the order of the study's items.

    Attributes:
        values: float64 [items], within the metric's bounds; NaN where unscored.
        reasons: why, "" where scored. lost: why there is no answer, else "". texts: the answers in words,
            else "".
        also: further numbers by name, float64 [items]; NaN without a reason where one does not apply.
        earlier: the texts of the turn before, as ``texts``; empty if there is one turn.
    """

    values: FloatArray
    reasons: Reasons
    lost: Reasons
    texts: Sequence[str] = ()
    also: Mapping[str, FloatArray] = field(default_factory=dict)
    earlier: Sequence[str] = ()

    @classmethod
    def over(cls, repetitions: Sequence[ConditionScores]) -> ConditionScores:
        """Return the mean over repetitions of each item's scores; those without a value are left out."""
        if len(repetitions) == 1:
            return repetitions[0]
        values, first = _mean([each.values for each in repetitions]), repetitions[0]
        reasons, lost = (
            np.where(np.isnan(values), own, "").astype(object) for own in (first.reasons, first.lost)
        )
        also = {name: _mean([each.also[name] for each in repetitions]) for name in first.also}
        return cls(values, reasons, lost, also=also)

    @property
    def reasoned(self) -> tuple[FloatArray, Reasons, Reasons]:
        """Return values, reasons and lost."""
        return self.values, self.reasons, self.lost

    def row(
        self, metric: str, where: Slice, chosen: BoolArray, clusters: ArrayLike, bounds: Bounds,
        null: float | None = None, items: ArrayLike | None = None,
    ) -> Metric:  # fmt: skip
        """Return the mean over the chosen items; see ``mean_row``."""
        values, reasons = self.values[chosen], self.reasons[chosen]
        return mean_row(metric, where, values, reasons, clusters, bounds, null, items)

    def gain(
        self, other: ConditionScores, metric: str, where: Slice, chosen: BoolArray, clusters: ArrayLike,
        bounds: Bounds, items: ArrayLike | None = None, sign: int = 1,
    ) -> Metric:  # fmt: skip
        """Return the mean difference from another condition over the chosen items, with null 0. A lost answer
        of the other condition is unscored here: as a wrong one it would raise the difference.

        Args:
            sign: -1 if less is better.
        """
        is_lost = other.lost[chosen] != ""
        values = np.where(is_lost, np.nan, sign * other.values[chosen])
        reasons = np.where(is_lost, other.lost[chosen], other.reasons[chosen])
        first = sign * self.values[chosen], self.reasons[chosen]
        return difference_row(metric, where, first, (values, reasons), clusters, bounds, items)


def _mean(values: Sequence[FloatArray]) -> FloatArray:
    """Return the means over the first axis of the values that are not NaN; NaN where all are."""
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    return np.where(n > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(1, n), np.nan)
