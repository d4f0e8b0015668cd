"""Numbers, times and lists as people read them. Also the filters of every template."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

LONGEST_NAME: Final = 30
MOST_SLICES: Final = 8
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 but tab and line feed, delete and C1 move a cursor, set a title or fill a clipboard; marks that turn the
direction of what follows make people read another text than is there. Names and answers may hold them."""


def clean(text: Any) -> Any:
    """A text without ``CONTROL``, and markup as markup; any other value as it is."""
    return type(text)(CONTROL.sub("", text)) if isinstance(text, str) else text


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A number to show: an en dash where it is unscored, a true minus sign, ∞, <0.01 for nearly 0."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 0 < value < 0.5 * 10**-digits:
        return f"<{10**-digits:.{digits}f}"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def percent(share: float | None) -> str:
    """A share in whole percent, an en dash where it is unscored."""
    if share is None:
        return "–"
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def compact(value: float | None) -> str:
    """Return a number of at least 1 in five characters at most: 1.23, 45.6, 789, 12k, 3.4M, 5e12, ∞; – if
    unscored.
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    for size, unit in ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / size
        # What would round up to one more digit has one decimal less, or the next unit.
        if scaled < 999.5:
            digits = (scaled < 9.95) if unit else (scaled < 99.95) + (scaled < 9.995)
            return f"{scaled:.{int(digits)}f}{unit}"
    return f"{value:.0e}".replace("e+", "e")


def when(value: datetime | None) -> str:
    """A time in UTC, to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC" if value else "–"


def pretty(text: str | None) -> str:
    """JSON with line breaks; any other text as it is."""
    try:
        return json.dumps(json.loads(text or "{}"), indent=1, ensure_ascii=False)
    except ValueError:
        return text or ""


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def shortened(text: str) -> str:
    """A list with commas, cut after its first parts, with how many more there are."""
    parts = text.split(", ")
    more = len(parts) - MOST_SLICES
    return text if more <= 0 else f"{', '.join(parts[:MOST_SLICES])} and {more} more"


def short(name: str) -> str:
    """A model's name, cut in the middle where it would not fit beside a figure."""
    if len(name) <= LONGEST_NAME:
        return name
    half = LONGEST_NAME // 2
    return f"{name[:half]}…{name[-half + 1 :]}"


def sentence(text: str) -> str:
    """A text with its first letter in upper case; the others as they are, unlike Jinja's ``capitalize``."""
    return text[:1].upper() + text[1:]


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "number": number, "percent": percent, "compact": compact, "when": when, "pretty": pretty,
    "listed": listed, "shortened": shortened, "sentence": sentence,
}  # fmt: skip
