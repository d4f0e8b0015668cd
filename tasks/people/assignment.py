"""Assigns items to people: stratified, balanced, blinded and in random order. Pure.

The order of items or people has no effect: a hash of the study's seed breaks ties.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tasks.identity import digest
from tasks.people.study import Assignment, PeopleItem, PeopleStudy, Private, Role

_Thing = TypeVar("_Thing")


@dataclass(frozen=True)
class Person:
    """A person by code, with a role and the language in which they answer."""

    annotator: str
    role: Role = "annotator"
    language: str = "en"


def item_code(*parts: str) -> str:
    """Return a code for an item that hides its origin: "i" and 12 hex digits."""
    return f"i{digest(parts, 12)}"


def stratified(things: Mapping[str, tuple[str, _Thing]], n: int | None, seed: int) -> list[_Thing]:
    """Return n things, spread as evenly over their strata as possible; all for None or if there are fewer.

    things: name -> (stratum, thing). Strata take turns, each in the order of a hash, so that a larger n
    returns the same things and more.
    """
    queues: dict[str, list[str]] = defaultdict(list)
    for name in sorted(things, key=lambda name: digest([seed, name])):
        queues[things[name][0]].append(name)
    placed = [
        (place, digest([seed, s]), name) for s, names in queues.items() for place, name in enumerate(names)
    ]
    return [things[name][1] for _, _, name in sorted(placed)[:n]]


def assign(
    study: PeopleStudy, items: Sequence[PeopleItem], private: Mapping[str, Private], people: Sequence[Person]
) -> list[Assignment]:
    """Assign each item to ``annotators_per_item`` people of its page's role and language; checks to everyone.

    An item goes to the people with the fewest items of its stratum, then with the fewest items. Nobody gets
    an item that they wrote; an item with a reader goes to the reader only. Everyone has their own order of
    items. A check comes first only if a person has nothing else. Pages per person come last, in the study's
    order.

    Raises:
        ValueError: too few people may see an item; the message says how many are needed.
    """
    of_stratum: Counter[Hashable] = Counter()
    load: Counter[str] = Counter()
    items_of: dict[str, list[PeopleItem]] = defaultdict(list)
    hidden = {item.item: private.get(item.item, Private(item=item.item)) for item in items}
    ordinary = {i.item: (hidden[i.item].stratum, i) for i in items if not hidden[i.item].expected}
    for item in stratified(ordinary, None, study.seed):
        about = hidden[item.item]
        able = [
            who.annotator
            for who in people
            if _may_see(study, item, who)
            and who.annotator != about.author
            and about.reader in ("", who.annotator)
            and load[who.annotator] < (study.items_per_person or len(ordinary))
        ]
        needed = 1 if about.reader else study.annotators_per_item
        if len(able) < needed:
            raise ValueError(
                f"item {item.item} ({item.language}) needs {needed} people and only {len(able)} may see it: "
                "invite more people, use fewer items, or raise items_per_person"
            )
        able.sort(key=lambda a: (of_stratum[a, about.stratum], load[a], digest([study.seed, item.item, a])))
        for annotator in able[:needed]:
            items_of[annotator].append(item)
            of_stratum[annotator, about.stratum] += 1
            load[annotator] += 1
    checks = [item for item in items if hidden[item.item].expected]
    once = [PeopleItem(item=page.name, page=page.name) for page in study.pages if page.per == "person"]
    rows = []
    for who in sorted(people, key=lambda who: who.annotator):
        own = [check for check in checks if _may_see(study, check, who)]
        last = [item for item in once if study.page(item.page).role == who.role]
        order = [*_mixed(study.seed, who.annotator, items_of[who.annotator], own), *last]
        rows += [_assignment(study, who, place, item) for place, item in enumerate(order, start=1)]
    return rows


def _may_see(study: PeopleStudy, item: PeopleItem, who: Person) -> bool:
    return study.page(item.page).role == who.role and item.language == who.language


def _mixed(
    seed: int, annotator: str, items: Sequence[PeopleItem], checks: Sequence[PeopleItem]
) -> list[PeopleItem]:
    """Return items and checks in a person's own order, beginning with an item that is no check."""
    order = sorted(items, key=lambda i: digest([seed, annotator, i.item]))
    rest = sorted([*order[1:], *checks], key=lambda i: digest([seed, annotator, "mixed", i.item]))
    return [*order[:1], *rest]


def _assignment(study: PeopleStudy, who: Person, place: int, item: PeopleItem) -> Assignment:
    fields = [field for field in study.page(item.page).fields if field.shown(item)]
    orders = {
        field.name: sorted(field.shown(item), key=lambda s: digest([study.seed, who.annotator, item.item, s]))
        if field.is_shuffled
        else list(field.shown(item))
        for field in fields
    }
    return Assignment(
        annotator=who.annotator,
        role=who.role,
        language=who.language,
        place=place,
        item=item.item,
        shown=orders,
    )
