"""Values that cross the borders of this package: pages in, items and counted drops out, and errors.

Each source is a folder: ``fetch.py`` speaks to the network and returns ``FetchedPage``s, ``parse.py`` turns
their bytes into ``Parsed`` without any I/O. Nothing here knows the warehouse; ``tasks/ingest`` joins the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from scrapers.text import clean


class ScrapeError(RuntimeError):
    """A source cannot be used; the message says which one, why, and what to do."""


class TransientError(ScrapeError):
    """A failure that may pass. ``retry_after`` is the server's own wish in seconds, if any."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class FetchedPage:
    """The answer of one address. ``content`` is as the server sent it, after content-encoding is undone.

    Attributes:
        charset: of the Content-Type header; None if it names none.
        from_cache: the server said that the copy on disk is still good (304).
    """

    url: str
    content: bytes
    content_type: str = ""
    charset: str | None = None
    from_cache: bool = False

    @property
    def sha256(self) -> str:
        """Hex digits that identify the content."""
        return sha256(self.content).hexdigest()


class WebSession(Protocol):
    """Fetches pages, politely, as ``scrapers.http.PoliteSession`` does; tests stand in for the network."""

    def get(self, url: str) -> FetchedPage:
        """The page at an address. Raises ScrapeError, or TransientError if trying again may help."""
        ...


def read(path: Path) -> FetchedPage:
    """A file that the user downloaded, as a page whose url is its path. Raises ScrapeError."""
    try:
        return FetchedPage(url=str(path), content=path.read_bytes())
    except OSError as error:
        raise ScrapeError(f"{path}: cannot be read ({error.strerror}); check the configured path") from error


@dataclass(frozen=True)
class ListItem:
    """One entry of an item list. ``countries`` are ISO 3166-1 alpha-2 codes."""

    item: str
    aliases: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True)
class Parsed:
    """A source's result: items in code-point order, each text once; counts of dropped entries by reason."""

    items: tuple[ListItem, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


def parsed(entries: Iterable[ListItem], dropped: Mapping[str, int], source: str) -> Parsed:
    """Return a source's merged result. Raises ScrapeError if it is empty: no source ever is."""
    items = merged(entries)
    counts = {reason: count for reason, count in sorted(dropped.items()) if count}
    if not items:
        seen = ", ".join(f"{reason}: {count}" for reason, count in counts.items()) or "no rows"
        raise ScrapeError(
            f"{source}: no item was found ({seen}). The page's layout has probably changed, or this is the "
            "wrong file; the last good list stays in use."
        )
    return Parsed(items=items, dropped=counts)


def merged(entries: Iterable[ListItem]) -> tuple[ListItem, ...]:
    """Merge entries of equal text into one item, in code-point order.

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
