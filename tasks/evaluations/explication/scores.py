"""From one model's conversations to numbers, one for each conversation, in the order of the study. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.evaluations.explication.judge import (
    FAILURES,
    INSTRUCTIONS,
    NO_TWIN,
    QUALITY,
    UNFINISHED,
    Grades,
    unjudged,
)
from tasks.evaluations.explication.measures import Measures, measure
from tasks.evaluations.explication.study import SHUFFLED, SILENT, Key, Study
from tasks.evaluations.explication.task import cut_short
from tasks.loop.dialogue import Stage, Talk
from tasks.loop.rows import Reasons
from tasks.metrics.intervals import POSITIVE, SHARE
from tasks.metrics.types import FloatArray

NOT_RECOMMENDED = "nothing was recommended"
NOTHING_ASKED = "no question was asked"
UNKNOWN_DISH = "the warehouse knows no dish of that name"
UNDECIDED = "no constraint could be decided"
NO_USER_TURN = "the user said nothing"

TEN, FIVE = (1.0, 10.0), (1.0, 5.0)
"""Scales of grades."""


@dataclass(frozen=True)
class Held:
    """One model's real conversations, in the order of the study: that of all arrays.

    Attributes:
        keys, talks: n conversations.
        measures: None where a conversation was not finished.
        grades: of each, and of null ones by key; empty without judges.
    """

    study: Study
    keys: tuple[Key, ...]
    talks: tuple[Talk, ...]
    measures: tuple[Measures | None, ...]
    grades: Mapping[Key, Grades]

    @cached_property
    def personas(self) -> np.ndarray:
        """[n] what is resampled."""
        return np.array([key.persona for key in self.keys])

    @cached_property
    def names(self) -> np.ndarray:
        """[n] each conversation, the same for all models."""
        return np.array([key.label for key in self.keys])

    def places(self, **of: object) -> np.ndarray:
        """Positions of the conversations with these fields of their keys."""
        return np.flatnonzero([all(getattr(k, n) == v for n, v in of.items()) for k in self.keys])

    def graded(self, dimension: str, source: str = "real") -> tuple[FloatArray, Reasons]:
        """[n] grades of a dimension and why they are missing; source: of their null twins."""
        values, reasons = np.full(len(self.keys), np.nan), np.full(len(self.keys), "", dtype=object)
        for place, (key, talk) in enumerate(zip(self.keys, self.talks, strict=True)):
            own = self.grades.get(key._replace(source=source))
            if own is None:
                is_alone = source == SHUFFLED and self.study.judges and talk.ended_by is not None
                lacks = NO_TWIN if is_alone else unjudged(self.study, talk)
                reasons[place] = cut_short(talk) or lacks
            else:
                values[place] = _grade(own, dimension)
                reasons[place] = (own.reason or UNFINISHED) if np.isnan(values[place]) else ""
        return values, reasons

    def graded_at(self, place: int, dimension: str, source: str = "real") -> float:
        """One grade; NaN where unscored."""
        own = self.grades.get(self.keys[place]._replace(source=source))
        return np.nan if own is None else _grade(own, dimension)

    def counted(self, count: Callable[[Measures], float | None], missing: str) -> tuple[FloatArray, Reasons]:
        """[n] a number of each conversation, as far as it went, and why it is missing."""
        values, reasons = np.full(len(self.keys), np.nan), np.full(len(self.keys), "", dtype=object)
        for place, measures in enumerate(self.measures):
            value = None if measures is None else count(measures)
            if value is None:
                reasons[place] = UNFINISHED if measures is None else measures.cut_short or missing
            else:
                values[place] = value
        return values, reasons


def hold(study: Study, stage: Stage, grades: Mapping[Key, Grades]) -> Held:
    """Count every real conversation that is over."""
    keys = tuple(study.real())
    talks = tuple(stage.talks[key] for key in keys)
    measures = tuple(
        None
        if talk.ended_by is None
        else measure(
            study.personas[key.persona], study.tasks[key.task], talk.turns, study.dishes, cut_short(talk)
        )
        for key, talk in zip(keys, talks, strict=True)
    )
    return Held(study, keys, talks, measures, grades)


def of_recommended(value: Callable[[Measures], float | None]) -> Callable[[Measures], float | None]:
    """Of conversations with a recommendation alone."""
    return lambda m: None if m.recommendation is None else value(m)


def share(
    part: Callable[[Measures], int | None], whole: Callable[[Measures], int]
) -> Callable[..., float | None]:
    """Part over whole; None where there is no whole."""

    def of(m: Measures) -> float | None:
        count = part(m)
        return None if count is None or not whole(m) else count / whole(m)

    return of


def violated(m: Measures) -> float | None:
    """Share of the constraints that could be decided that the recommendation violates."""
    decided = [kept for kept in m.kept.values() if kept is not None]
    return None if not decided else sum(not kept for kept in decided) / len(decided)


GRADES: Mapping[str, tuple[float, float]] = {
    "apr": TEN, "interaction": TEN, "instruction_following": FIVE, **dict.fromkeys(QUALITY[:3], TEN),
    **dict.fromkeys(INSTRUCTIONS, FIVE), **dict.fromkeys(FAILURES, SHARE),
}  # fmt: skip
"""Metric of judges -> what it can be."""

Count = tuple[Callable[[Measures], float | None], tuple[float, float], str]

COUNTS: Mapping[str, Count] = {
    "recommended": (
        lambda m: None if m.cut_short else float(m.recommendation is not None), SHARE, UNFINISHED,
    ),
    "cut_short": (lambda m: float(m.cut_short is not None), SHARE, UNFINISHED),
    "questions": (lambda m: m.questions, POSITIVE, UNFINISHED),
    "question_kinds": (lambda m: m.question_kinds, POSITIVE, UNFINISHED),
    "new_questions": (lambda m: m.new_questions, SHARE, NOTHING_ASKED),
    "dish_requests": (share(lambda m: m.dish_requests, lambda m: m.questions), SHARE, NOTHING_ASKED),
    "facts_elicited": (share(lambda m: m.elicited, lambda m: m.facts), SHARE, UNFINISHED),
    "facts_used": (
        of_recommended(share(lambda m: m.used, lambda m: m.usable)), SHARE, NOT_RECOMMENDED,
    ),
    "violated": (of_recommended(violated), SHARE, UNDECIDED),
    "decided": (
        of_recommended(share(lambda m: sum(k is not None for k in m.kept.values()), lambda m: len(m.kept))),
        SHARE, NOT_RECOMMENDED,
    ),
    "sections": (lambda m: m.sections, SHARE, NOT_RECOMMENDED),
    "exact_labels": (lambda m: m.exact_labels, SHARE, NOT_RECOMMENDED),
    "near_length": (lambda m: m.near_length, SHARE, NOT_RECOMMENDED),
    "turns": (lambda m: m.turns, POSITIVE, UNFINISHED),
    "role_confusion": (share(lambda m: m.confused, lambda m: m.turns - m.user_turns), SHARE, UNFINISHED),
    "repetition": (share(lambda m: m.repeated, lambda m: m.turns), SHARE, UNFINISHED),
    "user_contradictions": (lambda m: m.contradicted, POSITIVE, UNFINISHED),
    "user_dishes": (lambda m: m.divulged, POSITIVE, UNFINISHED),
    "user_unasked": (share(lambda m: m.unasked, lambda m: len(m.told)), SHARE, "no fact was told"),
    "user_too_long": (share(lambda m: m.too_long, lambda m: m.user_turns), SHARE, NO_USER_TURN),
    "user_confusion": (share(lambda m: m.user_confused, lambda m: m.user_turns), SHARE, NO_USER_TURN),
}  # fmt: skip
"""Metric that needs no judge -> how it is counted, what it can be, and why it is missing."""


def null_grades(
    study: Study, held: Held | None, shared: Mapping[Key, Grades], source: str, dimension: str
) -> FloatArray:
    """[n] grade of a null conversation in each real one's place, NaN where there is none.

    Args:
        held: the model's, whose own null conversations shuffled and silent are.
        shared: those of the study's own null recommenders.
    """
    keys = held.keys if held else tuple(study.real())
    values = np.full(len(keys), np.nan)
    for place, key in enumerate(keys):
        if source in (SHUFFLED, SILENT):
            own = held.grades.get(key._replace(source=source)) if held else None
        else:
            own = shared.get(key._replace(source=source, condition="", repetition=0))
        if own is not None:
            values[place] = _grade(own, dimension)
    return values


def effects(held: Held, values: FloatArray) -> tuple[FloatArray, Sequence[str]]:
    """Treatment less control of every task, persona and repetition, NaN if one is missing; its persona."""
    of_pair: dict[tuple[str, str, int], dict[str, float]] = {}
    for key, value in zip(held.keys, values, strict=True):
        of_pair.setdefault((key.task, key.persona, key.repetition), {})[key.condition] = value
    pairs = {pair: own for pair, own in of_pair.items() if len(own) == 2}
    return np.array([own["treatment"] - own["control"] for own in pairs.values()]), [p for _, p, _ in pairs]


def _grade(own: Grades, dimension: str) -> float:
    """A grade, or the mean of those that make it up."""
    if dimension == "apr":
        return own.apr
    if dimension == "instruction_following":
        return float(np.mean([own.values.get(name, np.nan) for name in INSTRUCTIONS]))
    return own.values.get(dimension, np.nan)
