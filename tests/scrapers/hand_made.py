"""The hand-made pages, and the warehouse's own countries."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from scrapers.countries import CountryCodes
from scrapers.model import FetchedPage

_HTML = (Path(__file__).parent / "pages.html").read_bytes().decode()
_LATIN = "currencies_charset_of_meta"
"""A page in the charset that it declares; the others are in UTF-8."""
PAGES = {
    name: text[:-1].encode("iso-8859-1" if name == _LATIN else "utf-8")
    for name, text in re.findall(r"<!--= (\w+) =-->\n(.*?)(?=<!--= |\Z)", _HTML, re.DOTALL)
}
"""Name -> content of each hand-made page of pages.html."""
REFERENCE = Path(__file__).parents[2] / "warehouse" / "reference" / "country.csv"


def page(name: str, url: str = "https://pages.example/", charset: str | None = "utf-8") -> FetchedPage:
    """Return a hand-made page as a session would return it."""
    return FetchedPage(url=url, content=PAGES[name], content_type="text/html", charset=charset)


def _countries() -> CountryCodes:
    """Return the 170 countries by name and by alpha-3 code."""
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return CountryCodes({row[column]: row["country"] for column in ("name", "alpha3") for row in rows})


COUNTRIES = _countries()
