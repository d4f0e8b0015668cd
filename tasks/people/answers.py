"""From saved revisions to what counts: the last complete value of everyone who is not excluded. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from tasks.people.files import Answer, Assignment, Folder

Key = tuple[str, str, str]
"""(annotator, item, field)"""
Reason = Literal["failed an attention check", "too fast", "unfinished"]


@dataclass(frozen=True)
class Rating:
    """One number or word that a person gave: of an entry, or of the field as a whole (entry "")."""

    annotator: str
    item: str
    language: str
    field: str
    entry: str
    value: str


def latest(answers: Iterable[Answer]) -> dict[Key, Answer]:
    """The last revision of every field, whatever the order of the answers.

    Raises:
        ValueError: a revision is there twice with two values.
    """
    newest: dict[Key, Answer] = {}
    for answer in answers:
        key = (answer.annotator, answer.item, answer.field)
        known = newest.setdefault(key, answer)
        if known.revision == answer.revision and known.value != answer.value:
            raise ValueError(f"revision {answer.revision} of {' '.join(key)} is there with two values")
        if known.revision < answer.revision:
            newest[key] = answer
    return newest


def exclusions(folder: Folder, answers: Iterable[Answer]) -> dict[str, list[Reason]]:
    """Annotator -> why their answers do not count; whoever answered and is not named counts.

    A check fails where the expected value was not given, also where nothing was. Too fast: the median time
    from opening a page to its last save is below ``min_seconds``. Unfinished: a required field of an assigned
    item has no complete value.
    """
    last = latest(answers)
    by_person: dict[str, list[Answer]] = defaultdict(list)
    for answer in last.values():
        by_person[answer.annotator].append(answer)
    assigned: dict[str, list[Assignment]] = defaultdict(list)
    for each in folder.assignments:
        assigned[each.annotator].append(each)
    reasons: dict[str, list[Reason]] = {}
    for annotator, own in sorted(by_person.items()):
        said = {(answer.item, answer.field): answer for answer in own}
        why: list[Reason] = []
        if _failed(folder, assigned[annotator], said):
            why.append("failed an attention check")
        if median(_seconds(own)) < folder.study.min_seconds:
            why.append("too fast")
        if any(lacking(folder, each.item, said) for each in assigned[annotator]):
            why.append("unfinished")
        if why:
            reasons[annotator] = why
    return reasons


def counted(reasons: Mapping[str, Sequence[Reason]]) -> Counter[str]:
    """How many people each reason excludes; whoever has two counts under both."""
    return Counter(reason for why in reasons.values() for reason in why)


def ratings(folder: Folder, answers: Iterable[Answer], excluded: Iterable[str] = ()) -> list[Rating]:
    """The last complete values, entry by entry, sorted: no checks, nobody excluded, nothing left empty."""
    left_out = set(excluded)
    rows = []
    for (annotator, item, field), answer in sorted(latest(answers).items()):
        check = folder.private.get(item)
        if annotator in left_out or answer.status != "complete" or (check and field in check.expected):
            continue
        language = _language(folder, item, annotator)
        values = answer.value if isinstance(answer.value, dict) else {"": answer.value}
        rows += [Rating(annotator, item, language, field, e, v) for e, v in sorted(values.items()) if v]
    return rows


def _language(folder: Folder, item: str, annotator: str) -> str:
    """The item's; of a page per person, the person's."""
    if folder.study.page(folder.items[item].page).per == "item":
        return folder.items[item].language
    return next((a.language for a in folder.assignments if a.annotator == annotator), "")


def _failed(folder: Folder, assigned: Sequence[Assignment], said: Mapping[tuple[str, str], Answer]) -> bool:
    expected = {
        (each.item, field): value
        for each in assigned
        if each.item in folder.private
        for field, value in folder.private[each.item].expected.items()
    }
    return any(key not in said or said[key].value != value for key, value in expected.items())


def lacking(folder: Folder, item: str, said: Mapping[tuple[str, str], Answer]) -> list[str]:
    """Fields of an item that a person had to fill in and did not. said: (item, field) -> last answer."""
    page = folder.study.page(folder.items[item].page)
    own = {field.name: answer for field in page.fields if (answer := said.get((item, field.name)))}
    wanted = page.wanted({name: answer.value for name, answer in own.items()})
    complete = {name for name, answer in own.items() if answer.value and answer.status == "complete"}
    return [field.name for field in wanted if field.name not in complete]


def _seconds(answers: Sequence[Answer]) -> list[float]:
    """Time on each page: from when it was first opened to its last save."""
    pages: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        pages[answer.item].append(answer)
    return [
        (max(a.saved for a in own) - min(a.started for a in own)).total_seconds() for own in pages.values()
    ]
