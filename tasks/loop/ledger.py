"""The answers of a run: stored, open, claimed by planned work, or lost. Pure.

The warehouse is queried once for each answer. After that the run keeps count itself, because it stores them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set

from tasks.engines.protocols import Lost
from tasks.loop.plan import Answer, PlanLine, Wanted, lay_out


class Ledger:
    """The answers of one run; callers in several threads hold a lock."""

    def __init__(self) -> None:
        """Begin without any answer."""
        self.stored: set[Answer] = set()
        self.open: set[Answer] = set()
        self.lost: dict[Answer, Lost] = {}
        """Answers that an engine of this run could not give. A later run sends their requests again."""
        self.waiting: set[str] = set()
        """Models with an open answer that is claimed for another model with the same request."""
        self._claims: dict[Answer, str] = {}
        """Answer that is planned or worked on -> the model that it is claimed for."""

    def unknown(self, wanted: Iterable[Wanted]) -> dict[str, set[Answer]]:
        """Return, by part kind, the answers that are not known as stored, open or lost."""
        return _by_kind(wanted, lambda answers: answers - self.stored - self.open - self.lost.keys())

    def known(self, wanted: Iterable[Wanted]) -> dict[str, set[Answer]]:
        """Return, by part kind, the answers that were stored when the warehouse was queried."""
        return _by_kind(wanted, self.stored.intersection)

    def learn(self, answers: Mapping[str, Collection[Answer]], missing: Set[Answer]) -> None:
        """Record the answers that ``unknown`` returned; ``missing`` are those that are not stored."""
        self.open |= missing
        self.stored |= {answer for own in answers.values() for answer in own} - missing

    def mark_deleted(self, deleted: Set[Answer]) -> None:
        """Record that another process has deleted these answers."""
        self.stored -= deleted
        self.open |= deleted

    def record(self, stored: Set[Answer]) -> None:
        """Record newly stored answers."""
        self.stored |= stored
        self.open -= stored

    def lose(self, lost: Mapping[Answer, Lost]) -> None:
        """Record what an engine could not answer; this run does not send it again."""
        self.lost |= lost
        self.open -= lost.keys()

    def count(self, wanted: Iterable[Wanted]) -> tuple[int, int, Counter[str]]:
        """Return the numbers of all and of stored answers to requests, and of those lost by reason."""
        answers = {answer for each in wanted for answer in _answers_of(each)}
        reasons = Counter(self.lost[answer].reason for answer in answers & self.lost.keys())
        return len(answers), len(answers & self.stored), reasons

    def planned(self, wanted: Collection[Wanted], models: Collection[str]) -> tuple[list[PlanLine], set[str]]:
        """Return the lines of the models' unclaimed open answers, and the models that have open answers.

        wanted: all requests of these models, and of no others.
        """
        open_by_model: dict[str, set[Answer]] = {model: set() for model in models}
        for each in wanted:
            open_by_model[each.model].update(self.open.intersection(_answers_of(each)))
        unclaimed = {answer for own in open_by_model.values() for answer in own if answer not in self._claims}
        lines = list(lay_out([*wanted], unclaimed).lines)
        for line in lines:
            self._claims |= dict.fromkeys(line.answers, line.model)
        for model, own in open_by_model.items():
            waits = any(self._claims[answer] != model for answer in own)
            (self.waiting.add if waits else self.waiting.discard)(model)
        return lines, {model for model, own in open_by_model.items() if own}

    def release(self, lines: Iterable[PlanLine]) -> None:
        """Drop the claims of lines that no slot works on any more."""
        for line in lines:
            for answer in line.answers:
                self._claims.pop(answer, None)


def _by_kind(
    wanted: Iterable[Wanted], select: Callable[[set[Answer]], set[Answer]]
) -> dict[str, set[Answer]]:
    """Return the selected answers of requests by part kind."""
    answers: dict[str, set[Answer]] = {}
    for each in wanted:
        answers.setdefault(each.request.kind, set()).update(select(set(_answers_of(each))))
    return answers


def _answers_of(wanted: Wanted) -> Iterator[Answer]:
    return ((wanted.request_hash, unit) for unit in wanted.request.units)
