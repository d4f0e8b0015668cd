"""The answers of a run: which are stored, which are open, and which of these somebody works on. Pure.

The warehouse is asked about each answer once. After that a run knows by itself: it is the one that answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set

from tasks.loop.plan import Answer, PlanLine, Wanted, lay_out

Unstored = Callable[[Mapping[str, Collection[Answer]]], set[Answer]]
"""Part kind -> answers; returns those that are not stored."""


class Ledger:
    """The answers of one run; whoever shares it among threads holds a lock."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.stored: set[Answer] = set()
        self.open: set[Answer] = set()
        self.waiting: set[str] = set()
        """Models of which something is done for another model, which asked the same."""
        self._taken: dict[Answer, str] = {}
        """Unit that is planned or worked on -> the model that it is done for."""

    def unknown(self, wanted: Iterable[Wanted]) -> dict[str, set[Answer]]:
        """Part kind -> answers of which it is not known whether they are stored."""
        return _by_kind(wanted, lambda answers: answers - self.stored - self.open)

    def known(self, wanted: Iterable[Wanted]) -> dict[str, set[Answer]]:
        """Part kind -> answers that were stored when the warehouse was asked."""
        return _by_kind(wanted, self.stored.intersection)

    def learn(self, answers: Mapping[str, Collection[Answer]], missing: Set[Answer]) -> None:
        """Take in what ``unknown`` gave, and what of it is not stored."""
        self.open |= missing
        self.stored |= {answer for own in answers.values() for answer in own} - missing

    def lose(self, gone: Set[Answer]) -> None:
        """Take in that somebody has deleted these answers."""
        self.stored -= gone
        self.open |= gone

    def note(self, stored: Set[Answer]) -> None:
        """Take in what was stored."""
        self.stored |= stored
        self.open -= stored

    def planned(self, wanted: Collection[Wanted], models: Collection[str]) -> tuple[list[PlanLine], set[str]]:
        """The lines of these models' open answers that nobody works on, and the models that have open ones.

        wanted: all that is asked for these models, and for no other.
        """
        left: dict[str, set[Answer]] = {model: set() for model in models}
        for each in wanted:
            left[each.model].update(self.open.intersection(_answers_of(each)))
        free = {answer for own in left.values() for answer in own if answer not in self._taken}
        lines = list(lay_out([*wanted], free).lines)
        for line in lines:
            self._taken |= dict.fromkeys(line.answers, line.model)
        for model, own in left.items():
            waits = any(self._taken[answer] != model for answer in own)
            (self.waiting.add if waits else self.waiting.discard)(model)
        return lines, {model for model, own in left.items() if own}

    def let_go(self, lines: Iterable[PlanLine]) -> None:
        """Nobody works on these lines any more, nor will."""
        for line in lines:
            for answer in line.answers:
                self._taken.pop(answer, None)


def _by_kind(
    wanted: Iterable[Wanted], chosen: Callable[[set[Answer]], set[Answer]]
) -> dict[str, set[Answer]]:
    answers: dict[str, set[Answer]] = {}
    for each in wanted:
        answers.setdefault(each.request.kind, set()).update(chosen(set(_answers_of(each))))
    return answers


def _answers_of(wanted: Wanted) -> Iterator[Answer]:
    return ((wanted.request_hash, unit) for unit in wanted.request.units)
