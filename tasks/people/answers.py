"""Select what counts of saved revisions: the last complete value of everyone who is not excluded. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any, Literal

from tasks.people.study import Assignment, Folder, FormField, PeopleAnswer

Key = tuple[str, str, str]
"""(annotator, item, field)"""
Reason = Literal[
    "failed an attention check", "contradicts the own ranking", "too fast", "unfinished", "over a quota"
]


@dataclass(frozen=True)
class Rating:
    """One number or word that a person gave: of an entry, or of the field as a whole (entry "")."""

    annotator: str
    item: str
    language: str
    field: str
    entry: str
    value: str


def latest(answers: Iterable[PeopleAnswer]) -> dict[Key, PeopleAnswer]:
    """The last revision of every field, whatever the order of the answers.

    Raises:
        ValueError: a revision is there twice with two values.
    """
    newest: dict[Key, PeopleAnswer] = {}
    for answer in answers:
        key = (answer.annotator, answer.item, answer.field)
        known = newest.setdefault(key, answer)
        if known.revision == answer.revision and known.value != answer.value:
            raise ValueError(f"revision {answer.revision} of {' '.join(key)} is there with two values")
        if known.revision < answer.revision:
            newest[key] = answer
    return newest


def exclusions(folder: Folder, answers: Iterable[PeopleAnswer]) -> dict[str, list[Reason]]:
    """Annotator -> why their answers do not count; whoever answered and is not named counts.

    A check fails where the expected value was not given, also where nothing was. A ranking is contradicted
    where what is chosen elsewhere has too low a rank in it (``Private.at_least``). Too fast: the median time
    from opening a page to its last save is below ``min_seconds``. Unfinished: a required field of an assigned
    item has no complete value. Over a quota: of those who would count, who came after the share of their
    option was full (``FormField.quota_for``).
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


def quotas(folder: Folder) -> list[tuple[str, FormField]]:
    """The fields that share places among their options, each with its page, which each person has once."""
    pages = (page for page in folder.study.pages if page.per == "person")
    return [(page.name, field) for page in pages for field in page.fields if field.quota_for]


def beyond_quota(folder: Folder, field: FormField, chosen: Mapping[str, tuple[str, Any]]) -> set[str]:
    """The people for whom there is no place: those who chose last of an option that has more than its share.

    An option's share is the people of the study by the number of options, rounded up; that of an option that
    is not in ``quota_for`` is 0.

    Args:
        chosen: person -> option, and when they chose first.
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
    """Return the number of people whom each reason excludes; whoever has two counts under both."""
    return Counter(reason for why in reasons.values() for reason in why)


def ratings(folder: Folder, answers: Iterable[PeopleAnswer], excluded: Iterable[str] = ()) -> list[Rating]:
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


def _failed(
    folder: Folder, assigned: Sequence[Assignment], by_field: Mapping[tuple[str, str], PeopleAnswer]
) -> bool:
    expected = {
        (each.item, field): value
        for each in assigned
        if each.item in folder.private
        for field, value in folder.private[each.item].expected.items()
    }
    return any(key not in by_field or by_field[key].value != value for key, value in expected.items())


def _contradicts(
    folder: Folder, assigned: Sequence[Assignment], by_field: Mapping[tuple[str, str], PeopleAnswer]
) -> bool:
    """Whether a choice is at odds with the person's own ranking; not where either is missing."""
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


def lacking(folder: Folder, item: str, by_field: Mapping[tuple[str, str], PeopleAnswer]) -> list[str]:
    """Fields of an item that a person had to fill in and did not. by_field: (item, field) -> last answer."""
    page = folder.study.page(folder.items[item].page)
    own = {field.name: answer for field in page.fields if (answer := by_field.get((item, field.name)))}
    wanted = page.wanted({name: answer.value for name, answer in own.items()})
    complete = {name for name, answer in own.items() if answer.value and answer.status == "complete"}
    return [field.name for field in wanted if field.name not in complete]


def _seconds(answers: Sequence[PeopleAnswer]) -> list[float]:
    """Time on each page: from when it was first opened to its last save."""
    pages: dict[str, list[PeopleAnswer]] = defaultdict(list)
    for answer in answers:
        pages[answer.item].append(answer)
    return [
        (max(a.saved for a in own) - min(a.started for a in own)).total_seconds() for own in pages.values()
    ]
