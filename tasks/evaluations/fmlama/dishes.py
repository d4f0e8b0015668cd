"""Which dishes take part: filtered sub-datasets (section 5.1), origin groups, and a fixed choice. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.fmlama.params import PAPER_GROUPS, FmlamaParams
from tasks.identity import UnknownName, digest


@dataclass(frozen=True)
class Dish:
    """A dish in one language. ``group`` is its origin, or the paper's group of it."""

    url: str
    name: str
    origin: str
    origin_name: str | None
    group: str
    ingredients: tuple[str, ...]


HOW_TO_LOAD = (
    "the shipped set is English only; load others with `culturescope ingest --source fmlama --file …` or "
    "`culturescope ingest --source wikidata --live`"
)

ByLanguage = dict[str, dict[str, Dish]]
"""language -> url -> dish"""


def choose_dishes(
    params: FmlamaParams, rows: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]
) -> ByLanguage:
    """The dishes of every language of the params.

    Rows have name and ingredients in one language; with ``aligned`` only dishes that have rows in all the
    languages stay, and else each language has its own (the paper's two kinds of filtered sub-dataset).

    Raises:
        UnknownName: an origin that no dish has.
        ValueError: a language without dishes, or a dish set that does not exist.
    """
    group_of = {str(g["origin"]): str(g["origin_group"]) for g in groups}
    if not rows:
        raise ValueError(f"there is no dish set {params.dish_set!r}: {HOW_TO_LOAD}")
    dishes: ByLanguage = {language: {} for language in params.languages}
    for row in _of_origins(params, rows, group_of):
        if row["language"] in dishes:
            dishes[row["language"]][row["url"]] = _dish(row, group_of)
    if params.aligned:
        common = set.intersection(*(set(d) for d in dishes.values()))
        dishes = {language: {u: d[u] for u in common} for language, d in dishes.items()}
    dishes = {language: _limited(d, params.max_dishes_per_origin) for language, d in dishes.items()}
    empty = [language for language, d in dishes.items() if not d]
    if empty:
        which = " of these origins" if params.origins else ""
        raise ValueError(
            f"the dish set {params.dish_set!r} has no dish{which} for {', '.join(empty)}: {HOW_TO_LOAD}"
        )
    return dishes


def _of_origins(
    params: FmlamaParams, rows: Sequence[Mapping[str, Any]], group_of: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """The rows whose origin or group is asked for."""
    if not params.origins:
        return list(rows)
    known = {str(r["origin"]) for r in rows} | set(group_of.values())
    names: set[str] = set()
    for origin in params.origins:
        if origin != PAPER_GROUPS and origin not in known:
            raise UnknownName("origin", origin, sorted(known))
        names |= set(group_of.values()) if origin == PAPER_GROUPS else {origin}
    return [r for r in rows if r["origin"] in names or group_of.get(r["origin"]) in names]


def _dish(row: Mapping[str, Any], group_of: Mapping[str, str]) -> Dish:
    return Dish(
        url=row["url"],
        name=row["name"],
        origin=row["origin"],
        origin_name=row["origin_name"],
        group=group_of.get(row["origin"], row["origin"]),
        ingredients=tuple(sorted(set(row["ingredients"]))),
    )


def _limited(dishes: Mapping[str, Dish], per_origin: int | None) -> dict[str, Dish]:
    """The dishes of each group whose urls' hashes are smallest: the same in every run and language."""
    if per_origin is None:
        return dict(dishes)
    by_group: dict[str, list[str]] = {}
    for url in sorted(dishes, key=lambda url: digest(url)):
        by_group.setdefault(dishes[url].group, []).append(url)
    return {url: dishes[url] for urls in by_group.values() for url in urls[:per_origin]}
