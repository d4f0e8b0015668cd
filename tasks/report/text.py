"""Formats numbers, times and lists for people. The functions are also the filters of every template."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

LONGEST_NAME: Final = 30
MOST_SLICES: Final = 8
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters and marks of direction, which names and answers may hold.

C0 (except tab and line feed), delete and C1 can move a cursor, set a title or fill a clipboard. Marks of
direction make people read a different text.
"""


def clean(text: Any) -> Any:
    """Return a text without ``CONTROL``, keeping markup as markup; any other value unchanged."""
    return type(text)(CONTROL.sub("", text)) if isinstance(text, str) else text


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """Return a number to show: an en dash if unscored, a true minus sign, ∞, <0.01 or >−0.01 for nearly 0."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 0 < abs(value) < 0.5 * 10**-digits:
        return f"{'<' if value > 0 else '>−'}{10**-digits:.{digits}f}"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def percent(share: float | None) -> str:
    """Return a share in whole percent, or an en dash if unscored."""
    if share is None:
        return "–"
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def compact(value: float | None) -> str:
    """Return a number of at least 1 in at most five characters: 1.23, 45.6, 789, 12k, 3.4M, 5e12, ∞; – if
    unscored.
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    for size, unit in ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / size
        # A number that would round up to one more digit gets one decimal less, or the next unit.
        if scaled < 999.5:
            digits = (scaled < 9.95) if unit else (scaled < 99.95) + (scaled < 9.995)
            return f"{scaled:.{int(digits)}f}{unit}"
    return f"{value:.0e}".replace("e+", "e")


def when(value: datetime | None) -> str:
    """Return a time in UTC, to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC" if value else "–"


def pretty(text: str | None) -> str:
    """Return JSON with line breaks; any other text unchanged."""
    try:
        return json.dumps(json.loads(text or "{}"), indent=1, ensure_ascii=False)
    except ValueError:
        return text or ""


def listed(words: Sequence[str]) -> str:
    """Return "a", "a and b", or "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def span(values: Iterable[float], shown: Callable[[float], str] = str) -> str:
    """Return the least and the greatest value: "1 to 3", or "1" if they look the same; "" for none."""
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(map(shown, (*ordered[:1], *ordered[-1:]))))


def plural(n: int, noun: str, more: str = "") -> str:
    """Return "1 model", or "2 models". more: the plural, if it is not the noun and an s."""
    return f"{n} {noun if n == 1 else more or noun + 's'}"


def shortened(text: str) -> str:
    """Return a list with commas, cut after its first parts, with the number of others."""
    parts = text.split(", ")
    more = len(parts) - MOST_SLICES
    return text if more <= 0 else f"{', '.join(parts[:MOST_SLICES])} and {more} more"


def short(name: str) -> str:
    """Return a model's name, cut in the middle if it would not fit next to a figure."""
    if len(name) <= LONGEST_NAME:
        return name
    half = LONGEST_NAME // 2
    return f"{name[:half]}…{name[-half + 1 :]}"


def cut(text: str, most: int = 300) -> str:
    """Return a text of at most so many letters, cut at a word."""
    return text if len(text) <= most else text[: most - 3].rpartition(" ")[0] + "..."


def sentence(text: str) -> str:
    """Return a text with its first letter in upper case; other letters are unchanged, unlike in Jinja's
    ``capitalize``.
    """
    return text[:1].upper() + text[1:]


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "number": number, "percent": percent, "compact": compact, "when": when, "pretty": pretty,
    "listed": listed, "shortened": shortened, "sentence": sentence,
}  # fmt: skip
