"""Files that the user downloaded, as pages."""

from __future__ import annotations

from pathlib import Path

from scrapers.model import Page, ScrapeError


def read(path: Path) -> Page:
    """A local file as a page whose url is its path. Raises ScrapeError if it cannot be read."""
    try:
        return Page(url=str(path), content=path.read_bytes())
    except OSError as error:
        raise ScrapeError(f"{path}: cannot be read ({error.strerror}); check the configured path") from error
