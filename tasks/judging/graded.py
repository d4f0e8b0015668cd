"""A graded score from what a judge's model thinks of every verdict, not only of the one it wrote. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.judging.rubric import normal

# A log-probability may exceed 0 by rounding, not by more.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Graded:
    """What the log-probabilities say.

    Attributes:
        score: mean of the verdicts' values, weighted by their probability, in [0, 1]; None where unscored.
        probabilities: share of each verdict, summing to 1, in the menu's order; empty where unscored.
        mass: probability of all verdicts together, before it was shared out. Far below 1 the judge was
            about to write something else, and the score rests on its leavings.
    """

    score: float | None
    probabilities: dict[str, float]
    mass: float | None
    unscored_reason: str | None


def graded(logprobs: Mapping[str, float] | None, values: Mapping[str, float]) -> Graded:
    """The sum of P(v) times the value of v over the verdicts v; for yes and no, P(yes) / (P(yes) + P(no)).

    Args:
        logprobs: text to natural-log probability, for texts that the judge might have written where the
            verdict stands, none of them the beginning of another: its top tokens there, or a whole
            continuation each. None where the engine gives none.
        values: verdict to its value in [0, 1], as ``{name: choice.value}`` of ``rubric.verdicts``.

    Texts that are a verdict but for case and outer space ("Yes", " YES") are pooled: each is a way to say it.
    Other texts count for nothing, and a verdict that is not among the texts has probability 0: an engine's
    list of top tokens is cut off below those that it holds.

    Raises:
        ValueError: a log-probability is NaN or above 0, a value is not in [0, 1], there are no verdicts, or
            two are the same but for case.
    """
    menu = {normal(name): name for name in values}
    if not values or len(menu) < len(values):
        raise ValueError(f"a menu has verdicts, no two alike but for case: {list(values)}")
    if not all(0 <= value <= 1 for value in values.values()):
        raise ValueError(f"a verdict's value lies in [0, 1]: {dict(values)}")
    if logprobs is None:
        return _unscored("the engine gives no log-probabilities")
    pooled: dict[str, list[float]] = {name: [] for name in values}
    for text, logprob in logprobs.items():
        if math.isnan(logprob) or logprob > _ROUNDING:
            raise ValueError(f"{text!r} has the log-probability {logprob}; it is a number up to 0")
        if normal(text) in menu:
            pooled[menu[normal(text)]].append(logprob)
    highest = max((lp for ways in pooled.values() for lp in ways), default=-math.inf)
    if highest == -math.inf:
        return _unscored("none of the verdicts is among the texts with a log-probability")
    # Relative to the highest, so that verdicts that are all improbable do not become 0 / 0.
    weights = {name: math.fsum(math.exp(lp - highest) for lp in ways) for name, ways in pooled.items()}
    total = math.fsum(weights.values())
    shares = {name: weight / total for name, weight in weights.items()}
    score = math.fsum(share * values[name] for name, share in shares.items())
    return Graded(min(score, 1.0), shares, min(total * math.exp(highest), 1.0), None)


def _unscored(reason: str) -> Graded:
    return Graded(None, {}, None, reason)
