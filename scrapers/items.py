"""The last step of every source: entries in any order to an item list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from scrapers.model import ListItem, Parsed, ScrapeError
from scrapers.text import clean


def parsed(entries: Iterable[ListItem], dropped: Mapping[str, int], source: str) -> Parsed:
    """What a source yielded, merged. Raises ScrapeError if that is nothing: no source is ever empty."""
    items = merged(entries)
    counts = {reason: count for reason, count in sorted(dropped.items()) if count}
    if not items:
        seen = ", ".join(f"{reason}: {count}" for reason, count in counts.items()) or "no rows"
        raise ScrapeError(
            f"{source}: not one item was found ({seen}). The page's layout has probably changed, or the file "
            "is not the one that was meant; the last good list stays in use."
        )
    return Parsed(items=items, dropped=counts)


def merged(entries: Iterable[ListItem]) -> tuple[ListItem, ...]:
    """Entries with equal text as one item, in code-point order.

    Texts are cleaned. Aliases and countries become sorted unions, an alias equal to the item itself is left
    out; ingredients keep their order, first mention first. Of several codes the first in code-point order
    stays, whatever the order of the entries. Entries without text must be dropped (and counted) before.
    """
    by_text: dict[str, list[ListItem]] = {}
    for entry in entries:
        by_text.setdefault(clean(entry.item), []).append(entry)
    return tuple(_one(text, by_text[text]) for text in sorted(by_text))


def _one(text: str, entries: list[ListItem]) -> ListItem:
    """The union of entries of one text."""
    aliases = {clean(alias) for entry in entries for alias in entry.aliases} - {"", text}
    ingredients = dict.fromkeys(clean(name) for entry in entries for name in entry.ingredients)
    ingredients.pop("", None)
    codes = sorted(entry.code for entry in entries if entry.code)
    return replace(
        entries[0],
        item=text,
        aliases=tuple(sorted(aliases)),
        countries=tuple(sorted({country for entry in entries for country in entry.countries})),
        ingredients=tuple(ingredients),
        code=codes[0] if codes else None,
    )
