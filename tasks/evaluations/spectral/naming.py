"""Finds the item of a list that a written answer names. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz import fuzz, process

LEAST_SIMILAR = 90.0
"""Least similarity of an answer and an item, in [0, 100] (``rapidfuzz.fuzz.ratio`` of their plain forms)."""

LONGEST_LINE = 12
"""Most words of a line in which an item may stand among other words; a longer one is prose."""

_END = re.compile(r"[,;:/|()\n、，；]|\s+(?:and|or|&)\s+|\s[-–—]\s")
_MARKS = re.compile(r"^[\s>#*_`\"'“”‘’•·-]*(?:\d{1,2}[.)]\s+)?[\s*_`\"'“”‘’]*")


class Names:
    """The items of a list by their plain forms.

    An alias that two items have names neither, and no alias takes an item's own name.
    """

    def __init__(self, items: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> None:
        """items, aliases: in the order of the list."""
        self._places = {form: place for place, item in enumerate(items) if (form := plain(item))}
        of_alias: dict[str, set[int]] = {}
        for place, names in enumerate(aliases):
            for name in names:
                of_alias.setdefault(plain(name), set()).add(place)
        own = {name: of.pop() for name, of in of_alias.items() if name and len(of) == 1}
        self._places = own | self._places
        self._words = [name for name in self._places if not name.isdecimal()]
        self._known: dict[tuple[str, bool], int | None] = {}

    def first_in(self, text: str, is_cut: bool = False) -> int | None:
        """Return the place of the item that an answer names first; None if it names none.

        The first line counts, and of several items the first. An item is named by its text or an alias,
        compared without case, accents and punctuation; else by standing in a short line; else by a similarity
        of at least ``LEAST_SIMILAR`` to the first words. A number is named only by itself.

        Args:
            is_cut: the answer was broken off, so its last words may be half of a name and do not count.
        """
        lines = [line for line in text.splitlines() if line.strip()][:2]
        if not lines:
            return None
        key = _MARKS.sub("", lines[0]), is_cut and len(lines) == 1
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, line: str, is_cut: bool) -> int | None:
        end = _END.search(line)
        if is_cut:
            line = line[: end.start()] if end else ""
        whole, first = plain(line), plain(line[: end.start()] if end else line)
        for name in (whole, first):
            if name in self._places:
                return self._places[name]
        words = whole.split()
        if len(words) <= LONGEST_LINE:
            spans = ((start, stop) for start in range(len(words)) for stop in range(len(words), start, -1))
            for start, stop in spans:
                name = " ".join(words[start:stop])
                if name in self._places and not name.isdecimal():
                    return self._places[name]
        best = process.extract(first, self._words, scorer=fuzz.ratio, score_cutoff=LEAST_SIMILAR, limit=5)
        places = {self._places[name] for name, score, _ in best if score == best[0][1]}
        return places.pop() if len(places) == 1 else None


def plain(text: str) -> str:
    """Return a text's letters and digits, without case and accents, with single spaces between words."""
    letters = (
        c
        for c in unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
        if not unicodedata.combining(c)
    )
    return " ".join("".join(c if c.isalnum() else "" if c in "'’ʻʼ" else " " for c in letters).split())
