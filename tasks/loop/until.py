"""When a run has sent enough: the order of items, the looks, and the rules that end it. Pure.

Two questions need two samples. Whether a model is *beyond its null*, or *separate* from another model, is
asked of the model, of whom the items are a sample in clusters. So clusters come in a random order, and what
is known of a cluster is one draw: the mean of its items so far, which counts like the cluster's size. First
one item of each cluster is sent, then three, nine, and so on (*layers*); a layer has a confidence
sequence of its own and an equal share of the level. How *wide* the interval of the set's own mean is, is
asked of the set. Its items are the population, drawn one by one without replacement, so their clusters do
not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from tasks.identity import digest
from tasks.metrics.confidence_sequences import interval, side_of
from tasks.metrics.gates import stretched
from tasks.metrics.intervals import CORRELATION, MIN_CLUSTERS, SHARE, degrees_of_freedom, mean_interval
from tasks.metrics.types import BoolArray, FloatArray, IntArray, Interval

VERSION = 2
"""Part of an until-run's config_hash; raise it whenever the order, the looks or a rule change."""

LEVEL = 0.05
"""Probability, at most, of a wrong decision, or of an interval without the mean, over all looks."""
FIRST, GROWTH = 20, 1.2
"""Items at the first look, and the ratio of those at one look to those at the look before."""
DEEPER = 3
"""Ratio of the items of a cluster in one layer to those in the layer before."""
DRAWS, GAP = 21, 0.1
"""Imagined runs of a plan's forecast, and the difference between two models that it imagines, as a share of
the range."""

BEYOND, WIDTH, SEPARATES = "beyond-null", "width", "separates"


class Rule(NamedTuple):
    """A rule that ends a run. width: of the interval; other: the model to separate from."""

    kind: Literal["beyond-null", "width", "separates"]
    width: float = 0.0
    other: str = ""

    @classmethod
    def parsed(cls, text: str) -> Rule:
        """Return the rule of an option's text.

        Raises:
            ValueError: it is none.
        """
        kind, _, rest = " ".join(text.split()).partition(" ")
        if kind == BEYOND and not rest:
            return cls("beyond-null")
        if kind == SEPARATES and rest:
            return cls("separates", other=rest)
        if kind == WIDTH and re.fullmatch(r"\d*\.?\d+", rest) and float(rest) > 0:
            return cls("width", float(rest))
        raise ValueError('write "beyond-null", "width 0.05" or "separates MODEL"')

    def __str__(self) -> str:
        """Return the rule as it is written, always in the same way; ``parsed`` returns it again."""
        width = np.format_float_positional(self.width, trim="-") if self.width else ""
        return " ".join(filter(None, (self.kind, width, self.other)))

    @property
    def of_set(self) -> bool:
        """Return whether the mean is that of the item set, not that of what the items are a sample of."""
        return self.kind == "width"


@dataclass(frozen=True)
class Order:
    """The order in which items are sent. It follows from their names, clusters and a seed.

    Attributes:
        by_cluster: whether clusters are drawn; otherwise items.
    """

    names: Sequence[str]
    clusters: Sequence[str]
    seed: int
    by_cluster: bool = True

    @cached_property
    def looks(self) -> list[int]:
        """Return the numbers of items that have been sent at each look; the last is all."""
        looks = [min(FIRST, len(self.names))]
        while looks[-1] < len(self.names):
            looks.append(min(len(self.names), math.ceil(looks[-1] * GROWTH)))
        return looks

    @cached_property
    def sequence(self) -> IntArray:
        """Return [items] their positions in ``names``, in the order of sending."""
        return self._drawn[0]

    @cached_property
    def labels(self) -> list[str]:
        """Return the clusters by name."""
        return sorted(set(self.clusters))

    @cached_property
    def code(self) -> IntArray:
        """Return [items] each one's cluster, as a position in ``labels``."""
        place = {label: n for n, label in enumerate(self.labels)}
        return np.array([place[cluster] for cluster in self.clusters], dtype=np.intp)

    @cached_property
    def weights(self) -> FloatArray:
        """Return [clusters] the sizes as shares of the largest."""
        return np.asarray(self.sizes / self.sizes.max())

    @cached_property
    def sizes(self) -> IntArray:
        """Return [clusters] the numbers of their items."""
        return np.bincount(self.code).astype(np.intp)

    @cached_property
    def depths(self) -> list[int]:
        """Return each layer's most items of a cluster."""
        most, depths = int(self.sizes.max()), [1]
        while depths[-1] < most:
            depths.append(min(most, depths[-1] * DEEPER))
        return depths

    def drawn_by(self, layer: int, n: int) -> IntArray:
        """Return the clusters that a layer has drawn once n items are sent, in their order."""
        clusters, ends = self._drawn[1][layer]
        return clusters[: int(np.searchsorted(ends, n, side="right"))]

    def within(self, layer: int) -> BoolArray:
        """Return [items] whether a layer has them."""
        return np.asarray(self._rank < self.depths[layer])

    @cached_property
    def _rank(self) -> IntArray:
        """Return [items] each one's place among those of its cluster."""
        rank, seen = np.empty(len(self.names), dtype=np.intp), [0] * len(self.labels)
        for place in self._by_hash:
            rank[place] = seen[self.code[place]]
            seen[self.code[place]] += 1
        return rank

    @cached_property
    def _by_hash(self) -> list[int]:
        keys = [digest([self.seed, name]) for name in self.names]
        return sorted(range(len(keys)), key=keys.__getitem__)

    @cached_property
    def _drawn(self) -> tuple[IntArray, list[tuple[IntArray, IntArray]]]:
        """Return the sequence, and of each layer the clusters in their order with the items sent by then."""
        if not self.by_cluster:
            return np.array(self._by_hash, dtype=np.intp), []
        members: list[list[int]] = [[] for _ in self.labels]
        for place in self._by_hash:
            members[self.code[place]].append(place)
        sequence, layers, before = list[int](), list[tuple[IntArray, IntArray]](), 0
        for layer, depth in enumerate(self.depths):
            keys = [digest([self.seed, layer, label]) for label in self.labels]
            clusters, ends = sorted(range(len(keys)), key=keys.__getitem__), []
            for cluster in clusters:
                sequence += members[cluster][before:depth]
                ends.append(len(sequence))
            layers.append((np.array(clusters, dtype=np.intp), np.array(ends, dtype=np.intp)))
            before = depth
        return np.array(sequence, dtype=np.intp), layers


class Look(NamedTuple):
    """A look at the answers. value: the mean; None without any. interval: holds at all looks together."""

    value: float | None
    interval: Interval
    is_decided: bool


Filled: TypeAlias = tuple[FloatArray, FloatArray] | None
"""[items] scores with the least, and with the greatest, in place of lost ones; None: none is lost."""


def look(
    order: Order, rule: Rule, scores: FloatArray, n: int, target: float | None = None, filled: Filled = None
) -> Look:
    """Return what is seen when the first n items of the order are answered.

    Args:
        scores: [items] in the order of ``Order.names``, in [0, 1]; NaN: not known, or not sent.
        target: the mean that the interval has to exclude, in [0, 1]; None: not known yet, so it never does.
        filled: the scores with the least and the greatest value for each answer that is lost, so that losing
            shows nothing of a model; a set's own mean is of the answers that a full run would have.
    """
    sent = order.sequence[:n]
    if not order.by_cluster:
        known = scores[sent][~np.isnan(scores[sent])]
        found = interval(known, LEVEL, population=len(order.names) - (n - known.size))
        width = found[1] - found[0] if found else math.inf
        return Look(float(known.mean()) if known.size else None, found, width <= rule.width)
    if np.isnan(scores[sent]).all():
        return Look(None, None, False)
    value, sides = _mean(order, scores, sent), _sides(order, rule, scores, n, filled)
    below = _intervals(sides[0])
    above = below if sides[1] is sides[0] else _intervals(sides[1])
    ends = min(max(low for low, _ in below), value), max(min(high for _, high in above), value)
    return Look(value, ends, _excludes(sides, target))


def is_decided(
    order: Order, rule: Rule, scores: FloatArray, n: int, target: float | None = None, filled: Filled = None
) -> bool:
    """Return ``look(…).is_decided``, without the interval where it is not needed."""
    if not order.by_cluster:
        return look(order, rule, scores, n).is_decided
    return target is not None and _excludes(_sides(order, rule, scores, n, filled), target)


def stop(order: Order, rule: Rule, scores: FloatArray, target: float | None = None) -> int:
    """Return how many items are sent if all items have these scores.

    What a look has excluded stays excluded, so the first look that decides is found by halving.
    """
    low, high = 0, len(order.looks) - 1
    while low < high:
        middle = (low + high) // 2
        if is_decided(order, rule, scores, order.looks[middle], target):
            high = middle
        else:
            low = middle + 1
    return order.looks[low]


def expected(order: Order, rule: Rule, target: float, best: float = 1.0) -> tuple[float, str]:
    """Return the mean number of items sent in imagined runs, and what they imagine, in words.

    Against a null the model scores midway between it and the best; another model differs by ``GAP``.
    """
    generator = np.random.Generator(np.random.PCG64(order.seed))
    n, share = len(order.names), (best + target) / 2 if rule.kind == "beyond-null" else 0.5
    sent = []
    for _ in range(DRAWS):
        if rule.kind == "separates":
            scores = generator.choice([0.0, 0.5, 1.0], n, p=[0.25 - GAP / 2, 0.5, 0.25 + GAP / 2])
        else:
            scores = (generator.random(n) < share).astype(np.float64)
        sent.append(stop(order, rule, scores, target))
    words = {
        "beyond-null": f"scores {share:.2f} of the range, midway between null and best",
        "separates": f"differs from {rule.other} by {GAP:g} of the range, and on half of the items",
        "width": f"scores {share:.1f} of the range",
    }
    return float(np.mean(sent)), words[rule.kind]


class _Layer(NamedTuple):
    """The draws of a layer. means, weights: of clusters, in their order; whole: the t interval, once all
    clusters are drawn. Each of the two misses with alpha at most.
    """

    means: FloatArray
    weights: FloatArray
    alpha: float
    whole: Interval


def _layers(order: Order, rule: Rule, scores: FloatArray, n: int) -> list[_Layer]:
    layers, alpha, k = [], LEVEL / 2 / len(order.depths), len(order.labels)
    for layer in range(len(order.depths)):
        drawn, is_known = order.drawn_by(layer, n), order.within(layer) & ~np.isnan(scores)
        of = order.code[is_known]
        counts, sums = np.bincount(of, minlength=k), np.bincount(of, scores[is_known], k)
        is_whole, drawn = drawn.size == k, drawn[counts[drawn] > 0]
        if drawn.size:
            means, weights = np.clip(sums[drawn] / counts[drawn], 0.0, 1.0), order.weights[drawn]
            whole = _whole(means, order.sizes[drawn], alpha, rule) if is_whole else None
            layers.append(_Layer(means, weights, alpha, whole))
    return layers


def _sides(
    order: Order, rule: Rule, scores: FloatArray, n: int, filled: Filled
) -> tuple[list[_Layer], list[_Layer]]:
    """Return the layers that bound the mean from below and from above; the same if no answer is lost."""
    if filled is None:
        layers = _layers(order, rule, scores, n)
        return layers, layers
    low, high = (_layers(order, rule, own, n) for own in filled)
    return low, high


def _intervals(layers: Sequence[_Layer]) -> list[tuple[float, float]]:
    """Return the intervals of the layers, one after the other and over all their clusters."""
    found = [interval(layer.means, layer.alpha, layer.weights) for layer in layers]
    return [ends for ends in [*found, *(layer.whole for layer in layers)] if ends]


def _excludes(sides: tuple[list[_Layer], list[_Layer]], target: float | None) -> bool:
    """Return whether a layer shows the mean above the target from below, or below it from above."""
    return target is not None and any(
        _side(layer, target) == side for side, layers in zip((1, -1), sides, strict=True) for layer in layers
    )


def _whole(means: FloatArray, sizes: IntArray, alpha: float, rule: Rule) -> Interval:
    """Return the interval over all clusters by the t distribution, which a few clusters need."""
    is_difference = rule.kind == "separates"
    bounds = CORRELATION if is_difference else SHARE
    points = np.repeat(2 * means - 1 if is_difference else means, sizes)
    code = np.repeat(np.arange(means.size), sizes)
    if means.size < MIN_CLUSTERS or (usual := mean_interval(points, code, bounds)) is None:
        return None
    df = degrees_of_freedom(sizes / sizes.sum())
    found = stretched(float(points.mean()), usual, alpha / 2, df, bounds)
    return found and ((found[0] + 1) / 2, (found[1] + 1) / 2) if is_difference else found


def _side(layer: _Layer, target: float) -> int:
    """Return 1 or -1 if the mean is shown to be above or below a target, else 0."""
    if layer.whole and not layer.whole[0] <= target <= layer.whole[1]:
        return 1 if layer.whole[0] > target else -1
    return side_of(layer.means, target, layer.alpha, layer.weights)


def _mean(order: Order, scores: FloatArray, sent: IntArray) -> float:
    """Return the mean over clusters by their sizes, of the means of their items that are sent and known."""
    own = sent[~np.isnan(scores[sent])]
    counts = np.bincount(order.code[own], minlength=len(order.labels))
    means = np.bincount(order.code[own], scores[own], len(order.labels)) / np.maximum(counts, 1)
    return float(np.average(means, weights=order.weights * (counts > 0)))
