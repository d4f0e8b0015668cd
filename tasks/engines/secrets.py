"""Removes keys from servers' texts, which may contain them whole, in part or in other spellings. Pure.

A server's text may quote the key that it received, and texts reach logs and databases. So every text of a
server is cleaned before it is cut, stored or shown.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

SHORT_SECRET = 16
"""Fewest characters of a key that is also removed from answers; a shorter one may be a common word."""
GRAM = 8
"""Characters per piece in the search for a key: any 15 characters in a row contain a whole piece."""


class Secrets:
    """Removes a key, whole, in part and in other spellings, from texts, and user names from addresses."""

    def __init__(self, key: str | None) -> None:
        """Prepare to hide a key; None if there is nothing to hide."""
        self._spellings = sorted(_spellings(key), key=len, reverse=True) if key else []
        self._is_long = len(key or "") >= SHORT_SECRET

    def hide(self, text: str) -> str:
        """Return an error's text without secrets. Cut it only afterwards, or part of a key may remain."""
        text = self.hide_in_answer(re.sub(r"//[^/\s@]*@", "//", text))
        for spelling in self._spellings:
            text = text.replace(spelling, "[key]")
        # Base64 characters around the key may be a user name, or the rest of the key.
        return re.sub(r"[\w+/-]{0,400}\[key\][\w+/=-]{0,400}", "[key]", text)

    def hide_in_answer(self, text: str) -> str:
        """Return an answer's text without the key, unless the key is short and may be a word of the answer.

        All runs of 15 or more characters of the key are removed, and some from 8 characters on, in these
        spellings: plain, JSON, hexadecimal, Base64 with any text before the key, percent-encoded, reversed.
        """
        spans = sorted(self._runs(text)) if self._is_long else []
        for start, end in reversed(_joined(spans)):
            text = f"{text[:start]}[key]{text[end:]}"
        return text

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of runs of at least GRAM characters that a text shares with a spelling."""
        for spelling in self._spellings:
            for i in range(0, len(spelling) - GRAM + 1, GRAM):
                at = text.find(spelling[i : i + GRAM])
                while at >= 0:
                    start, end = at, at + GRAM
                    while start and at - start < i and text[start - 1] == spelling[i - (at - start) - 1]:
                        start -= 1
                    while (
                        end < len(text) and text[end : end + 1] == spelling[i + end - at : i + end - at + 1]
                    ):
                        end += 1
                    yield start, end
                    at = text.find(spelling[i : i + GRAM], end)

    def are_in(self, text: str) -> bool:
        """Return whether ``hide_in_answer`` would change the text."""
        return self._is_long and next(self._runs(text), None) is not None

    def clean(self, value: Any) -> Any:
        """Return JSON with the key hidden in all its texts, names of fields included."""
        if isinstance(value, str):
            return self.hide_in_answer(value)
        if isinstance(value, dict):
            return {self.hide_in_answer(str(name)): self.clean(each) for name, each in value.items()}
        return [self.clean(each) for each in value] if isinstance(value, list) else value


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans, merged if they overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            start, end = joined[-1][0], max(end, joined.pop()[1])
        joined.append((start, end))
    return joined


def _spellings(key: str) -> set[str]:
    """Return the key in the spellings in which servers may repeat it."""
    raw = key.encode()
    spellings = {key, json.dumps(key)[1:-1], raw.hex(), raw.hex().upper(), quote(key, safe=""), key[::-1]}
    for shift in range(3):  # after any text, the middle of the key has one of three Base64 forms
        coded = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        middle = coded[(0, 2, 3)[shift] : len(coded) - bool((shift + len(raw)) % 3)]
        spellings |= {middle, middle.replace("+", "-").replace("/", "_")} if len(middle) >= 4 else set()
    return spellings
