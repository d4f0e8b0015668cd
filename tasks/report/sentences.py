"""Makes the sentences that the plan, the log, boards and pages share: lost answers, and a cohort. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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


if TYPE_CHECKING:
    import polars as pl

_NAMED = 6
"""Most models that are named."""

ALONE = (
    "One model alone decides this for all that follow, which favours it: --cohort NAME makes a cohort of a "
    "run's models, with its own leaderboard, and sends no new requests"
)


def cohort_sentence(cohort: str, models: Sequence[str], effect: str = "", is_frozen: bool = True) -> str:
    """Return the size and the members of a cohort, what it determines, and a warning if it is one model.

    Args:
        cohort: its name. models: its members. effect: what of the others' rows it determines.
        is_frozen: false if the run that is planned or scored now will freeze it.
    """
    more = len(models) - _NAMED
    names = [*models[:_NAMED], *([f"{more} more"] if more > 0 else [])]
    state = "" if is_frozen else ", which this run freezes"
    size = f"{len(models)} model{'' if len(models) == 1 else 's'}"
    sentences = [f"cohort {cohort}{state}: {size} ({', '.join(names)})"]
    sentences += [text for text in (effect, ALONE if len(models) == 1 else "") if text]
    return ". ".join(sentences)


def cohort_of_page(members: pl.DataFrame, effect: str = "") -> str | None:
    """Return the sentence about a page's cohort; None if none is frozen. members: the view report_cohort."""
    if not members.height:
        return None
    return cohort_sentence(members["cohort"][0], members["model"].to_list(), effect)
