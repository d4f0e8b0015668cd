"""Lost answers in words, for the end of a run, boards and pages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

NONE = "none"
"""The reason of the row of an engine that has lost nothing."""
FAILED = "no answer from the server"
"""The reason of answers that are not stored; what the server said stands behind it."""
WORTH_SAYING = 0.05
"""Share of lost answers above which boards and pages say so."""

_ADVICE = {"candidate": "--max-tokens", "judge": "--judge-max-tokens", "simulator": "--simulator-max-tokens"}
_ANSWERS = {"judge": "verdicts", "simulator": "turns"}


class Loss(NamedTuple):
    """Answers of one engine about one model that are lost for one reason, of ``n`` in all."""

    role: str
    engine: str
    reason: str
    n_lost: int
    n: int


def in_words(model: str, of_model: Iterable[Loss], above: float = 0.0) -> list[str]:
    """Return a line for each engine that has lost answers about a model, with reasons and advice.

    Args:
        above: share of an engine's answers that must be lost for a line.
    """
    engines: dict[tuple[str, str], list[Loss]] = {}
    for loss in of_model:
        if loss.n_lost:
            engines.setdefault((loss.role, loss.engine), []).append(loss)
    lines = []
    for (role, engine), own in engines.items():
        n_lost = sum(loss.n_lost for loss in own)
        if n_lost > above * own[0].n:
            who = model if role == "candidate" else f"{engine} on {model or 'the null models'}"
            ordered = sorted(own, key=lambda loss: (-loss.n_lost, loss.reason))
            why = ", ".join(f"{loss.n_lost:,} {loss.reason}{_advice(role, loss.reason)}" for loss in ordered)
            answers = _ANSWERS.get(role, "answers")
            lines.append(f"{who}: {n_lost:,} of {own[0].n:,} {answers} lost: {why}")
    return lines


def _advice(role: str, reason: str) -> str:
    """Return what to do about a reason, in brackets; "" if nothing helps."""
    if reason.startswith("cut off") and role in _ADVICE:
        return f" (raise {_ADVICE[role]})"
    return " (a later run sends them again)" if reason.startswith(FAILED) else ""
