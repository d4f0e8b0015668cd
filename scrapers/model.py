"""Types that this package shares with its callers: pages, items, numbers of dropped entries, and errors.

In each source ``fetch`` sends requests and returns ``FetchedPage``s, and ``parse`` turns their bytes into
``Parsed`` without any I/O. Nothing here imports the warehouse; ``tasks/ingest`` stores the
results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from scrapers.text import clean


class ScrapeError(RuntimeError):
    """A source cannot be used; the message names the source, the reason and a remedy."""


class TransientError(ScrapeError):
    """A failure that may be temporary. ``retry_after``: seconds that the server asks to wait, if it does."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class FetchedPage:
    """The page at an address.

    Attributes:
        content: bytes that the server sent, after content-encoding is undone.
        charset: charset of the Content-Type header; None if it names none.
        from_cache: the page is the copy on disk, which has not changed according to the server (304).
    """

    url: str
    content: bytes
    content_type: str = ""
    charset: str | None = None
    from_cache: bool = False

    @property
    def sha256(self) -> str:
        """SHA-256 of the content, in hex digits."""
        return sha256(self.content).hexdigest()


class WebSession(Protocol):
    """A session that fetches pages, such as ``scrapers.http.PoliteSession``; tests use others."""

    def get(self, url: str) -> FetchedPage:
        """Return the page at an address. Raises ScrapeError; TransientError if a later try may succeed."""
        ...


def downloaded(path: Path) -> FetchedPage:
    """Return a file that the user downloaded as a page whose url is its path; raises ScrapeError."""
    try:
        return FetchedPage(url=str(path), content=path.read_bytes())
    except OSError as error:
        raise ScrapeError(f"{path}: cannot be read ({error.strerror}); check the configured path") from error


@dataclass(frozen=True)
class ListItem:
    """An entry of an item list. ``countries`` are ISO 3166-1 alpha-2 codes."""

    item: str
    aliases: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True)
class Parsed:
    """A source's result: items in code-point order, each text once; number of dropped entries by reason."""

    items: tuple[ListItem, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


def parsed(entries: Iterable[ListItem], dropped: Mapping[str, int], source: str) -> Parsed:
    """Return a source's merged result. Raises ScrapeError if it is empty, which no source is."""
    items = merged(entries)
    counts = {reason: count for reason, count in sorted(dropped.items()) if count}
    if not items:
        dropped_text = ", ".join(f"{reason}: {count}" for reason, count in counts.items()) or "no rows"
        raise ScrapeError(
            f"{source}: no item was found ({dropped_text}). The page's layout has probably changed, or this "
            "is the wrong file; until this is corrected, the last good list is used."
        )
    return Parsed(items=items, dropped=counts)


def merged(entries: Iterable[ListItem]) -> tuple[ListItem, ...]:
    """Merge entries of equal text into one item; items are in code-point order.

    Texts are cleaned. Aliases and countries are sorted unions, without an alias equal to the item itself.
    Ingredients are in the order of their first occurrence. Of several codes, the first in code-point order is
    used. The caller must have dropped entries without text.
    """
    by_text: dict[str, list[ListItem]] = {}
    for entry in entries:
        by_text.setdefault(clean(entry.item), []).append(entry)
    return tuple(_one(text, by_text[text]) for text in sorted(by_text))


def _one(text: str, entries: list[ListItem]) -> ListItem:
    """Return entries of one text as one item."""
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
