"""The hand-made pages, and the warehouse's own countries."""

from __future__ import annotations

import csv
from pathlib import Path

from scrapers.countries import CountryCodes
from scrapers.model import FetchedPage

PAGES = Path(__file__).parent / "pages"
REFERENCE = Path(__file__).parents[2] / "warehouse" / "reference" / "country.csv"


def page(name: str, url: str = "https://pages.example/", charset: str | None = "utf-8") -> FetchedPage:
    """Return a hand-made page as a session would return it."""
    return FetchedPage(
        url=url, content=(PAGES / name).read_bytes(), content_type="text/html", charset=charset
    )


def _countries() -> CountryCodes:
    """Return the 170 countries by name and by alpha-3 code."""
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return CountryCodes({row[column]: row["country"] for column in ("name", "alpha3") for row in rows})


COUNTRIES = _countries()
