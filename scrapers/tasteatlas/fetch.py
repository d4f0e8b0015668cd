"""The configured export: a file, or an endpoint."""

from __future__ import annotations

from pathlib import Path

from scrapers.local import read
from scrapers.model import Page
from scrapers.session import Session


def fetch(session: Session, source: str) -> list[Page]:
    """The export as one page. source: path of a JSON file, or an http(s) address that answers with JSON."""
    is_address = source.startswith(("http://", "https://"))
    return [session.get(source) if is_address else read(Path(source))]
