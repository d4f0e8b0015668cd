"""Selects the answers that count: the last complete value of everyone who is not excluded. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any, Literal

from tasks.people.study import Assignment, FormField, PeopleAnswer, StudyFolder

Key = tuple[str, str, str]
"""(annotator, item, field)"""
Reason = Literal[
    "failed an attention check", "contradicts the own ranking", "too fast", "unfinished", "over a quota"
]


@dataclass(frozen=True)
class PersonRating:
    """A person's number or word for an entry, or for the whole field (entry "")."""

    annotator: str
    item: str
    language: str
    field: str
    entry: str
    value: str


def latest(answers: Iterable[PeopleAnswer]) -> dict[Key, PeopleAnswer]:
    """Return the last revision of every field, in whatever order the answers come.

    Raises:
        ValueError: a revision occurs twice with two values.
    """
    newest: dict[Key, PeopleAnswer] = {}
    for answer in answers:
        key = (answer.annotator, answer.item, answer.field)
        known = newest.setdefault(key, answer)
        if known.revision == answer.revision and known.value != answer.value:
            raise ValueError(f"revision {answer.revision} of {' '.join(key)} occurs with two values")
        if known.revision < answer.revision:
            newest[key] = answer
    return newest


def exclusions(folder: StudyFolder, answers: Iterable[PeopleAnswer]) -> dict[str, list[Reason]]:
    """Return why answers do not count: annotator -> reasons. Everyone else who answered counts.

    A check fails if the expected value is missing or different. A ranking is contradicted if a choice
    elsewhere has too low a rank in it (``Private.at_least``). Too fast: the median time from opening a page
    to its last save is below ``min_seconds``. Unfinished: a required field of an assigned item has no
    complete value. Over a quota: the person would count, but came after the share of their option was full
    (``FormField.quota_for``).
    """
    answers = list(answers)
    last = latest(answers)
    by_person: dict[str, list[PeopleAnswer]] = defaultdict(list)
    for answer in last.values():
        by_person[answer.annotator].append(answer)
    assigned: dict[str, list[Assignment]] = defaultdict(list)
    for each in folder.assignments:
        assigned[each.annotator].append(each)
    reasons: dict[str, list[Reason]] = {}
    for annotator, own in sorted(by_person.items()):
        by_field = {(answer.item, answer.field): answer for answer in own}
        why: list[Reason] = []
        if _failed(folder, assigned[annotator], by_field):
            why.append("failed an attention check")
        if _contradicts(folder, assigned[annotator], by_field):
            why.append("contradicts the own ranking")
        if median(_seconds(own)) < folder.study.min_seconds:
            why.append("too fast")
        if any(lacking(folder, each.item, by_field) for each in assigned[annotator]):
            why.append("unfinished")
        if why:
            reasons[annotator] = why
    for item, field in quotas(folder):
        first: dict[str, Any] = {}
        for answer in answers:
            if (answer.item, answer.field) == (item, field.name) and answer.annotator not in reasons:
                first[answer.annotator] = min(first.get(answer.annotator, answer.saved), answer.saved)
        chosen = {who: (str(last[who, item, field.name].value), since) for who, since in first.items()}
        for annotator in beyond_quota(folder, field, chosen):
            reasons[annotator] = ["over a quota"]
    return reasons


def quotas(folder: StudyFolder) -> list[tuple[str, FormField]]:
    """Return the fields with quotas, each with its page, which every person sees once."""
    pages = (page for page in folder.study.pages if page.per == "person")
    return [(page.name, field) for page in pages for field in page.fields if field.quota_for]


def beyond_quota(folder: StudyFolder, field: FormField, chosen: Mapping[str, tuple[str, Any]]) -> set[str]:
    """Return the people over the quota: the last to choose an option with more people than its share.

    An option's share is the number of people in the study over the number of options, rounded up. An option
    that is not in ``quota_for`` has share 0.

    Args:
        chosen: person -> (option, time of the first choice).
    """
    share = ceil(len({each.annotator for each in folder.assignments}) / len(field.quota_for))
    taken: Counter[str] = Counter()
    beyond = set()
    for annotator, (option, _) in sorted(chosen.items(), key=lambda one: (one[1][1], one[0])):
        taken[option] += 1
        if taken[option] > (share if option in field.quota_for else 0):
            beyond.add(annotator)
    return beyond


def counted(reasons: Mapping[str, Sequence[Reason]]) -> Counter[str]:
    """Return the number of people whom each reason excludes; a person with two reasons counts for both."""
    return Counter(reason for why in reasons.values() for reason in why)


def ratings(
    folder: StudyFolder, answers: Iterable[PeopleAnswer], excluded: Iterable[str] = ()
) -> list[PersonRating]:
    """Return the last complete values by entry, sorted, without checks, excluded people and empty values."""
    left_out = set(excluded)
    rows = []
    for (annotator, item, field), answer in sorted(latest(answers).items()):
        check = folder.private.get(item)
        if annotator in left_out or answer.status != "complete" or (check and field in check.expected):
            continue
        language = _language(folder, item, annotator)
        values = answer.value if isinstance(answer.value, dict) else {"": answer.value}
        rows += [PersonRating(annotator, item, language, field, e, v) for e, v in sorted(values.items()) if v]
    return rows


def _language(folder: StudyFolder, item: str, annotator: str) -> str:
    """Return the item's language; on a page per person, the person's."""
    if folder.study.page(folder.items[item].page).per == "item":
        return folder.items[item].language
    return next((a.language for a in folder.assignments if a.annotator == annotator), "")


def _failed(
    folder: StudyFolder, assigned: Sequence[Assignment], by_field: Mapping[tuple[str, str], PeopleAnswer]
) -> bool:
    expected = {
        (each.item, field): value
        for each in assigned
        if each.item in folder.private
        for field, value in folder.private[each.item].expected.items()
    }
    return any(key not in by_field or by_field[key].value != value for key, value in expected.items())


def _contradicts(
    folder: StudyFolder, assigned: Sequence[Assignment], by_field: Mapping[tuple[str, str], PeopleAnswer]
) -> bool:
    """Return whether a choice contradicts the person's own ranking; false if either is missing."""
    rankings = {
        field: answer.value for (_, field), answer in by_field.items() if isinstance(answer.value, dict)
    }
    for each in assigned:
        hidden = folder.private.get(each.item)
        for field, (ranking, least) in (hidden.at_least if hidden else {}).items():
            choice = by_field.get((each.item, field))
            rank = rankings.get(ranking, {}).get(str(choice.value)) if choice else None
            if rank and int(rank) < least:
                return True
    return False


def lacking(folder: StudyFolder, item: str, by_field: Mapping[tuple[str, str], PeopleAnswer]) -> list[str]:
    """Return the required fields of an item that a person did not fill in.

    by_field: (item, field) -> last answer.
    """
    page = folder.study.page(folder.items[item].page)
    own = {field.name: answer for field in page.fields if (answer := by_field.get((item, field.name)))}
    wanted = page.wanted({name: answer.value for name, answer in own.items()})
    complete = {name for name, answer in own.items() if answer.value and answer.status == "complete"}
    return [field.name for field in wanted if field.name not in complete]


def _seconds(answers: Sequence[PeopleAnswer]) -> list[float]:
    """Return the seconds spent on each page, from first opening to last save."""
    pages: dict[str, list[PeopleAnswer]] = defaultdict(list)
    for answer in answers:
        pages[answer.item].append(answer)
    return [
        (max(a.saved for a in own) - min(a.started for a in own)).total_seconds() for own in pages.values()
    ]
