"""The configured export: a file, or an endpoint. Small: fetching stands apart from parsing everywhere."""

from __future__ import annotations

from pathlib import Path

from scrapers.model import Page, Session, read


def fetch(session: Session, source: str) -> list[Page]:
    """The export as one page. source: path of a JSON file, or an http(s) address that answers with JSON."""
    is_address = source.startswith(("http://", "https://"))
    return [session.get(source) if is_address else read(Path(source))]
