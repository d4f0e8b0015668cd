"""Makes links that save a table as CSV, and a figure as SVG and as CSV of its numbers. The files are data
URLs within the page, which needs neither a script nor the network.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from urllib.parse import quote

from markupsafe import Markup

_SAFE = " ,;:/()=+'"
_TYPES = {"svg": "image/svg+xml", "csv": "text/csv"}
_LINK = Markup(
    '<a download="culturemeter-{0}.{1}" aria-label="{0} as {1}" href="data:{2};charset=utf-8,{3}">{1}</a>'
)
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d\s.,;:%\[\]+–−-]*\Z)")
"""Signs that begin a formula in spreadsheets; a sign before a number or an interval does not."""
_BLANK = " \t\r\n\f\v\u200b\u200c\u200d\u2060\ufeff"
_BREAKS = ("br", "small", "li")
"""Tags that begin another line of a cell."""


def download_links(name: str, files: Mapping[str, str]) -> Markup:
    """Return a line of links. name: name of the files, without suffix; files: svg or csv -> content."""
    links = [_LINK.format(name, kind, _TYPES[kind], quote(text, _SAFE)) for kind, text in files.items()]
    return Markup('<p class="download">{}</p>').format(Markup(" ").join(links))


def table_link(table: str, caption: str) -> Markup:
    """Return the link to a table's texts, row by row, with "; " between lines of a cell and without drawings.
    table: content of ``<table>`` without its caption, which names the file.
    """
    cells = _Cells()
    cells.feed(table)
    name = "-".join(re.findall(r"[a-z0-9]+", caption.casefold())[:6])
    return download_links(name, {"csv": as_csv(cells.rows)})


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return CSV with a heading.

    A text that spreadsheets would run as a formula gets an apostrophe in front.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    for row in rows:
        writer.writerow([f"'{cell}" if is_formula(str(cell)) else cell for cell in row])
    return buffer.getvalue()


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may run a text: also after blanks, and in signs of full width."""
    plain = unicodedata.normalize("NFKC", text).lstrip(_BLANK)
    return text[:1] in ("\t", "\r", "\n") or _FORMULA.match(plain) is not None


class _Cells(HTMLParser):
    """Collects the texts of cells in rows; a cell over several columns is followed by empty ones."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._lines: list[str] | None = None
        self._more = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Implement the method of ``HTMLParser``."""
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self._lines, self._more = [""], int(dict(attrs).get("colspan") or 1) - 1
        elif tag in _BREAKS and self._lines is not None:
            self._lines.append("")

    def handle_data(self, data: str) -> None:
        """Implement the method of ``HTMLParser``."""
        if self._lines is not None:
            self._lines[-1] += data

    def handle_endtag(self, tag: str) -> None:
        """Implement the method of ``HTMLParser``."""
        if tag in ("td", "th") and self._lines is not None:
            lines = [" ".join(line.split()) for line in self._lines]
            self.rows[-1] += ["; ".join(filter(None, lines)), *[""] * self._more]
            self._lines = None
