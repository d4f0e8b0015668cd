"""The text of one table cell as a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bs4.element import CData, NavigableString, Tag

from scrapers.text import clean

# Elements whose text is not part of the cell: nested tables are read as tables of their own.
_SKIPPED = frozenset({"table", "style", "script", "noscript", "template", "img", "svg", "picture", "object"})
_SKIPPED_CLASSES = frozenset({"sortkey", "reference", "flagicon", "mw-editsection", "noprint"})
_BREAKS = frozenset({"br", "hr", "p", "div", "li", "ul", "ol", "dl", "dt", "dd"})
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# [1], [a], [note 2] and the like, where they are text and not <sup class="reference">.
_FOOTNOTE = re.compile(
    r"\[\s*(?:\d{1,3}|[a-z]{1,2}|(?:note|nb|n|fn|lower-alpha|upper-alpha)\s*\d{1,3}|"
    r"(?:citation|clarification|verification) needed)\s*\]",
    re.IGNORECASE,
)
_EMOJI_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]+")


def cell_text(cell: Tag) -> str:
    """One line of text: no footnote marks, hidden sort keys, flags or images; a line break is a space."""
    text = _EMOJI_FLAG.sub("", "".join(_visible(cell)))
    return clean(_FOOTNOTE.sub("", text))


def _visible(element: Tag) -> Iterator[str]:
    """The pieces of text below an element that a reader would see, in order."""
    for child in element.children:
        if isinstance(child, Tag):
            if child.name in _BREAKS:
                yield " "
            if not _is_left_out(child):
                yield from _visible(child)
            if child.name in _BREAKS:
                yield " "
        elif type(child) in (NavigableString, CData):  # subclasses are comments, styles and the like
            yield str(child)


def _is_left_out(element: Tag) -> bool:
    """Whether a reader would not count the element as text of the cell."""
    style = element.get("style")
    return (
        element.name in _SKIPPED
        or element.has_attr("hidden")
        or (isinstance(style, str) and _HIDDEN.search(style) is not None)
        or not _SKIPPED_CLASSES.isdisjoint(element.get_attribute_list("class"))
    )
