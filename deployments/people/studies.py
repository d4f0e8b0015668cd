"""Kinds of studies: how a new study is drawn and written, and how a pull uses its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from deployments.people import ceiling, culturall, draw, explication
from deployments.people.draw import Drawn, Wishes
from deployments.people.results import StudyResults
from tasks.people.assignment import Person, assign
from tasks.people.study import (
    ASSIGNMENTS,
    ITEMS,
    PRIVATE,
    STUDY,
    PeopleItem,
    Private,
    Role,
    StudyError,
    read_study,
    write_assignments,
    write_rows,
)
from warehouse import Warehouse
from warehouse.storage import private_folder

KINDS = Path(__file__).parent / "kinds"

DRAWS: dict[str, Callable[[Warehouse, Wishes], Drawn]] = {
    "spectral-ranking": draw.nothing,
    "fmlama-mes": draw.dishes,
    "judge-ratings": draw.judged_answers,
    "specnorm-review": draw.norm_drafts,
    "conversation-ratings": explication.draw_conversations,
    "culturall-create": culturall.draw_topics,
    "culturall-review": culturall.draw_waiting,
    "culturall-elevate": culturall.draw_easy,
    "persona-interview": draw.nothing,
    ceiling.KIND: ceiling.draw_items,
}
FOLLOWS: dict[str, Callable[[Warehouse, StudyResults, Path], list[str]]] = {
    "conversation-ratings": explication.follow_conversations,
    "culturall-create": culturall.follow_written,
    "culturall-review": culturall.follow_reviewed,
    "culturall-elevate": culturall.follow_elevated,
    "persona-interview": explication.follow_interviews,
}
"""Functions that use the answers of a pull, by kind of study; each returns lines on what it did."""

_PAGES: dict[str, Callable[[Warehouse, Wishes, Sequence[PeopleItem], str], str]] = {
    "judge-ratings": draw.judged_pages,
    ceiling.KIND: ceiling.page_texts,
}
"""Functions that write the study text for kinds whose pages depend on the drawn items."""

_CHECKS: dict[str, Sequence[Private]] = {
    "spectral-ranking": [
        Private(item="check", expected={"rank_one": "common", "instructed": "2"}),
        # Simulated failure rates: 2 % of careful people, 67 % of people who choose at random, everybody who
        # ranks in reverse. Requiring rank 9 would lose 23 % of careful people.
        Private(item="about_you", at_least={"most_different": ("ranking", 7)}),
    ]
}
"""Expected answers of the checks on pages that each person sees once."""


def new_study(warehouse: Warehouse, wishes: Wishes, folder: Path) -> int:
    """Write the folder of a new study; returns its number of items.

    Raises:
        StudyError: no such kind, or the folder exists. WarehouseError: nothing to draw from. ValueError: too
            few people, or a wrong number of codes.
    """
    if wishes.kind not in DRAWS:
        raise StudyError(f"no kind of study {wishes.kind!r}; known: {', '.join(sorted(DRAWS))}")
    if folder.exists():
        raise StudyError(f"{folder} exists already: give the study another name")
    head = {
        "name": wishes.name,
        "kind": wishes.kind,
        "languages": list(wishes.languages),
        "annotators_per_item": wishes.per_item,
        "seed": wishes.seed,
    }
    # JSON and TOML write these values alike.
    lines = [f"{key} = {json.dumps(value)}" for key, value in head.items()]
    kind = (KINDS / f"{wishes.kind}.toml").read_text(encoding="utf-8")
    drawn = DRAWS[wishes.kind](warehouse, wishes)
    items, private = [item for item, _ in drawn], [hidden for _, hidden in drawn]
    if wishes.kind in _PAGES:
        kind = _PAGES[wishes.kind](warehouse, wishes, items, kind)
    text = "\n".join([*lines, kind])
    private_folder(folder)
    (folder / STUDY).write_text(text, encoding="utf-8")
    (folder / STUDY).chmod(0o600)
    try:
        study = read_study(folder / STUDY)
        (role,) = {page.role for page in study.pages}
        rows = assign(study, items, {each.item: each for each in private}, _people(wishes, role))
        write_rows(folder / ITEMS, items)
        write_rows(folder / PRIVATE, [*private, *_CHECKS.get(wishes.kind, ())])
        write_assignments(folder / ASSIGNMENTS, rows)
    except ValueError:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        raise
    return len(items)


def follow(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Use the answers of a pull as this kind of study needs; returns a line per step."""
    action = FOLLOWS.get(results.folder.study.kind)
    return action(warehouse, results, folder) if action else []


def _people(wishes: Wishes, role: Role) -> list[Person]:
    """Return participants with neutral codes (p001, p002 …) or the given ones. No author may review."""
    places = [language for language in wishes.languages for _ in range(wishes.people)]
    codes = wishes.codes or tuple(f"p{n:03}" for n in range(1, len(places) + 1))
    if len(set(codes)) != len(places):
        raise ValueError(
            f"{len(set(codes))} codes for {len(places)} people: give one distinct code per person"
        )
    return [Person(code, role, language) for code, language in zip(codes, places, strict=True)]
