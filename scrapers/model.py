"""What crosses the borders of this package: pages in, items and counted drops out, and what can go wrong.

Each source is a folder: ``fetch.py`` speaks to the network and returns ``Page``s, ``parse.py`` turns their
bytes into ``Parsed`` without any I/O. Nothing here knows the warehouse; ``tasks/ingest`` joins the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol


class ScrapeError(RuntimeError):
    """A source cannot be used as it is; the message says which, what is wrong and what to do."""


class TransientError(ScrapeError):
    """The same request may succeed later. ``retry_after`` is the server's own wish in seconds, if any."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Page:
    """What one address answered. ``content`` is as the server sent it, after content-encoding is undone.

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


class Session(Protocol):
    """Fetches pages, politely, as ``scrapers.http.PoliteSession`` does; tests stand in for the network."""

    def get(self, url: str) -> Page:
        """The page at an address. Raises ScrapeError, or TransientError if trying again may help."""
        ...


def read(path: Path) -> Page:
    """A file that the user downloaded, as a page whose url is its path. Raises ScrapeError."""
    try:
        return Page(url=str(path), content=path.read_bytes())
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
    """What a source yielded: items in code-point order, each text once; how many were left out and why."""

    items: tuple[ListItem, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
