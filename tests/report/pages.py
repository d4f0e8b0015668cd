"""Read a page in tests, and check the properties of every page."""

from __future__ import annotations

import re
from typing import Any

from bs4 import BeautifulSoup, Tag

from tasks.report import Frames
from tasks.report.page import Report

_INSIDE = ("#", "data:image/png;base64,")
_SAVED = ("data:text/csv;", "data:image/svg+xml;")
HOSTILE = "<script>alert(1)</script>"
_OWN = re.compile(r"\b[0-9a-f]{16}\b|\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?|\bculturemeter browse .*")


def parsed(report: Report[Any], data: Frames) -> BeautifulSoup:
    return BeautifulSoup(report.render(data), "lxml")


def text_of(element: Tag | None) -> str:
    assert element is not None
    return " ".join(element.get_text(" ").split())


def shown(figure: Tag) -> list[str]:
    """Return the texts of a figure."""
    return [text.get_text().strip() for text in figure.select("text")]


def lines(page: BeautifulSoup, table: str) -> list[list[str]]:
    """Return the texts of all cells of a table's body."""
    rows = page.select(f"table#{table} tbody tr")
    return [[text_of(cell) for cell in row.select("th, td")] for row in rows]


def section(page: BeautifulSoup, name: str) -> str:
    """Return the text from one heading to the next."""
    texts = []
    for element in page.select_one(f"h2#{name}").find_next_siblings():  # type: ignore[union-attr]
        if element.name == "h2":
            break
        texts.append(text_of(element))
    return " ".join(texts)


def outline(page: BeautifulSoup) -> str:
    """Return what a page shows, a line for each heading, fact, paragraph, row, caption and figure.

    Left out are what each run has of its own (times and hashes), and the frame's tables of runs and licences.
    """
    kinds = "h1, h2, h3, p, li, dt, dd, summary, tr, caption, figcaption, figure svg, section svg"
    lines: list[str] = []
    for element in page.body.select(kinds):  # type: ignore[union-attr]
        if element.get("id") == "provenance":
            break
        if element.name == "svg":
            lines.append(f"svg {element['aria-label']} | {' '.join(shown(element))}")
        elif element.name == "tr":
            cells = [text_of(cell) for cell in element.select("th, td")]
            lines.append(f"tr {' '.join(element.get('class', []))}| {' | '.join(cells)}")
        elif "download" not in element.get("class", []):
            lines.append(f"{element.name} {text_of(element)}")
    return _OWN.sub("…", "\n".join(lines)) + "\n"


def check_downloads(page: BeautifulSoup) -> None:
    """Check that every table can be saved as CSV, and every figure as SVG and CSV."""
    for table in page.select("div.scroll > table"):
        saved = table.parent.find_next_sibling()  # type: ignore[union-attr]
        assert [text_of(link) for link in saved.select("a")] == ["csv"], text_of(table.caption)
    for box in page.select("figure:not(.forest) > div.scroll"):
        assert [text_of(link) for link in box.select("p.download a")] == ["svg", "csv"]


def check_page(page: BeautifulSoup, n_scripts: int = 0) -> None:
    """Check that only the page's own scripts run, nothing is loaded, every reference resolves, everything has
    a label, and no internal word is shown."""
    assert not page.select("link, iframe, object, embed, script[src]")
    assert len(page.select("script")) == n_scripts
    assert all(not re.search(r"@import|url\((?!#)|http", style.get_text()) for style in page.select("style"))
    for element in page.find_all(True):
        saves = element.name == "a" and element.get("href", "").startswith(_SAVED)
        for name, value in element.attrs.items():
            if saves and name == "href":
                assert element["download"].endswith((".csv", ".svg"))
                continue
            text = " ".join(value) if isinstance(value, list) else value
            assert not (name in ("src", "href", "data", "srcset") and not text.startswith(_INSIDE)), text[:60]
            assert not re.search(r"url\((?!#)|http|^on", f"{name} {text}"), f"<{element.name} {name}>"
    ids = [element["id"] for element in page.select("[id]")]
    assert len(ids) == len(set(ids))
    wanted = {link["href"][1:] for link in page.select("[href^='#']")}
    clips = (re.findall(r"#([^)]+)", path["clip-path"]) for path in page.select("[clip-path]"))
    assert wanted.union(*clips) <= set(ids)
    for table in page.select("table"):
        assert text_of(table.caption)
        assert "scroll" in table.parent["class"]
    for drawn in page.select("svg"):
        assert drawn["role"] == "img"
        assert drawn["aria-label"]
        sizes = [re.search(r"font: ([\d.]+)px", str(t.get("style"))) for t in drawn.select("text")]
        assert min((float(size[1]) for size in sizes if size), default=7) >= 7  # points, drawn as 4/3 pixels
    for figure in page.select("figure svg"):
        assert "scroll" in figure.parent["class"]
    assert not re.search(r"\bseed’s|\bseed paper|dumb\b(?!”)", page.get_text())
