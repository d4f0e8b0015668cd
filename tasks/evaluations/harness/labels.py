"""Right answers of a harness task's documents, and those that name none of their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
Task = Any
"""A ``HarnessTask``; its module imports this one."""

NO_OPTION = -100
"""Index of a right answer in words that is none of the options, as in the library."""


def choices(task: Task, fields: Fields) -> list[str]:
    """Return the options of a document."""
    return [str(choice) for choice in task.library.doc_to_choice(fields)]


def gold(task: Task, fields: Fields) -> Any:
    """Return the right answer of a document: the index of the option, or several; else a text."""
    own = _stated(task, fields)
    if task.chooses and isinstance(own, str):
        options = choices(task, fields)
        return options.index(own) if own in options else NO_OPTION
    if task.writes and task.library.config.doc_to_choice is not None and isinstance(own, int):
        options = choices(task, fields)
        return options[own] if 0 <= own < len(options) else None
    return own


def wrong(task: Task) -> dict[int, str]:
    """Return the documents whose right answer is none of their options, each with the reason.

    If some labels are the number of options and none is 0, among all documents of the task, labels count from
    1, and all are wrong.
    """
    if task.library.config.doc_to_choice is None:
        return {}
    if task.chooses and _count_from_1(task):
        return dict.fromkeys(task.golds, "labels count from 1, and those of the harness count from 0")
    reasons: dict[int, str] = {}
    for doc, own in task.golds.items():
        fields = task.documents[doc]
        n, places = len(choices(task, fields)), _places(own)
        is_place = [
            isinstance(place, int) and 0 <= place < n if task.chooses else place is not None
            for place in places
        ]
        if not places or not all(is_place):
            reasons[doc] = f"its label {_shown(_stated(task, fields))} is none of its {n} options"
    return reasons


def _count_from_1(task: Task) -> bool:
    """Return whether labels count from 1; documents that are not asked show it too."""
    if any(0 in _places(own) for own in task.golds.values()):
        return False
    found_last = False
    for fields in task.library.eval_docs:
        n, places = len(choices(task, fields)), _places(gold(task, fields))
        if not places or not all(isinstance(place, int) and 1 <= place <= n for place in places):
            return False
        found_last |= n in places
    return found_last


def _stated(task: Task, fields: Fields) -> Any:
    """Return the right answer as the document has it."""
    of = task.library.doc_to_text if task.library.multiple_input else task.library.doc_to_target
    return of(fields)


def _places(own: Any) -> list[Any]:
    return own if isinstance(own, list) else [own]


def _shown(value: Any) -> str:
    """Return a label as text, shortened if long."""
    return text if len(text := repr(value)) <= 60 else f"{text[:60]}…"
