"""Removes keys from servers' texts, which may contain them whole, in part or in other spellings. Pure.

A server's text may quote the key that it received, and texts reach logs and databases. So every text of a
server is cleaned before it is cut, stored or shown.

A text is compared with the key in its *plain form*. Encodings by signs (percent, entities, codes)
are undone, step by step while something is left to undo. Then only letters and digits stay, in lower case, so
that blanks, joiners, chunks and cases do not matter; nor do other shapes of the same letters, signs that look
like them, and signs that stand for them unseen. The key itself is compared in its coded forms (hexadecimal,
octal, Base64, Base32, ROT13, reversed). Long runs that are coded twice are decoded.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from string import ascii_lowercase, ascii_uppercase
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tasks.engines.look_alikes import LOOKS_LIKE

SHORT_SECRET = 16
"""Fewest characters of a key that is also removed from answers; a shorter one may be a common word."""
GRAM = 8
"""Fewest letters and digits in a row that a text must share with the key to be hidden."""
STEPS = 4
"""Most encodings by signs, one in another, that are undone."""

_SIGNS = re.compile(
    r"(?=[%=\\&U\d])(?:"
    r"(?:\b\d{2,3}[\s,;.|:/-]+){7,}\d{2,3}\b"  # codes: 115, 107, 45 …
    r"|(?<![01])[01]{8}(?:[\s,;.|:/-]*[01]{8}){7,}"  # bits
    r"|%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}"  # letters beyond ASCII in UTF-8
    r"|=[C-F][0-9A-F](?:(?:=\r?\n)?=[89AB][0-9A-F]){1,3}"
    r"|\\{1,4}x[c-fC-F][0-9a-fA-F](?:\\{1,4}x[89abAB][0-9a-fA-F]){1,3}"
    r"|(?:\\{1,4}|%)u[dD][89abAB][0-9a-fA-F]{2}(?:\\{1,4}|%)u[dD][c-fC-F][0-9a-fA-F]{2}"  # and in UTF-16
    r"|\\{1,4}N\{[A-Z0-9 -]{3,80}\}"
    r"|%[0-9a-fA-F]{2}|%u[0-9a-fA-F]{4}|=[0-9A-F]{2}|=\r?\n"  # quoted-printable
    r"|\\{1,4}[nrt]|\\{1,4}u(?:\{[0-9a-fA-F]{1,6}\}|[0-9a-fA-F]{4})|\\{1,4}x[0-9a-fA-F]{2}|\\{1,4}[0-7]{3}"
    r"|\\{1,4}U[0-9a-fA-F]{8}|\b0[xX][0-9a-fA-F]{2}\b|U\+[0-9a-fA-F]{4,6}"
    r"|&\#\d{1,7};?|&\#[xX][0-9a-fA-F]{1,7};?|&[0-9A-Za-z]{1,12};)"
)
"""One sign, or a list of codes, in another spelling."""
_CODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,6}")
"""A run that may be coded text."""


class Secrets:
    """Removes a key, whole, in part and in other spellings, from texts, and user names from addresses."""

    def __init__(self, key: str | None) -> None:
        """Prepare to hide a key; None if there is nothing to hide."""
        self._spellings = sorted(_spellings(key), key=len, reverse=True) if key else []
        self._is_long = len(key or "") >= SHORT_SECRET
        self._key = key or ""
        self._octal = _octal(self._key)

    @cached_property
    def _forms(self) -> dict[str, str]:
        """Plain form of each coded form of the key -> that form."""
        return {plain(form): form for form in sorted(_forms(self._key))}

    @cached_property
    def _pieces(self) -> dict[str, list[tuple[str, int]]]:
        """Piece of GRAM signs -> the plain forms with it, and where."""
        pieces: dict[str, list[tuple[str, int]]] = {}
        for form in self._forms:
            for start in range(len(form) - GRAM + 1):
                pieces.setdefault(form[start : start + GRAM], []).append((form, start))
        return pieces

    @cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """The pieces as numbers, sorted, for a fast search."""
        return np.sort(_grams("".join(self._pieces))[::GRAM])

    def hide(self, text: str) -> str:
        """Return an error's text without secrets. Cut it only afterwards, or part of a key may remain."""
        text = self.hide_in_answer(re.sub(r"//[^/\s@]*@", "//", text))
        for spelling in self._spellings:
            text = text.replace(spelling, "[key]")
        # Base64 characters around the key may be a user name, or the rest of the key.
        return re.sub(r"[\w+/-]{0,400}\[key\][\w+/=-]{0,400}", "[key]", text)

    def hide_in_answer(self, text: str) -> str:
        """Return an answer's text without the key, unless the key is short and may be a word of the answer.

        All runs of 8 or more letters and digits of the key are removed, in the spellings of the module's
        docstring.
        """
        for start, end in reversed(_joined(sorted(self._spans(text)))):
            text = f"{text[:start]}[key]{text[end:]}"
        return text

    def are_in(self, text: str) -> bool:
        """Return whether ``hide_in_answer`` would change the text, or one of the texts in it."""
        return self._is_long and self._contains(text, 2)

    def clean(self, value: Any) -> Any:
        """Return JSON with the key hidden in all its texts, names of fields included."""
        if isinstance(value, str):
            return self.hide_in_answer(value)
        if isinstance(value, dict):
            return {self.hide_in_answer(str(name)): self.clean(each) for name, each in value.items()}
        return [self.clean(each) for each in value] if isinstance(value, list) else value

    def _contains(self, text: str, depth: int) -> bool:
        """Return whether a text has a piece of the key; depth: of runs that are decoded."""
        for step in range(STEPS + 1):
            if self._places(plain(text)).size:
                return True
            if step == STEPS or (opened := _SIGNS.sub(_sign, text)) == text:
                break
            text = opened
        runs = _CODED.finditer(text) if depth else ()
        return any(self._contains(inner, depth - 1) for run in runs for inner in _decoded(run[0]))

    def _places(self, bare: str) -> NDArray[np.intp]:
        """Return where a plain text has a piece of the key."""
        own, known = _grams(bare), self._numbers
        return np.flatnonzero(known[np.minimum(np.searchsorted(known, own), known.size - 1)] == own)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the parts of a text that spell a part of the key."""
        if not self.are_in(text):
            return
        spelled = [(sign, place, place + 1) for place, sign in enumerate(text)]
        for _ in range(STEPS + 1):
            yield from self._runs(spelled)
            opened = _opened(spelled)
            if len(opened) == len(spelled):
                break
            spelled = opened
        whole = "".join(sign for sign, *_ in spelled)
        for run in _CODED.finditer(whole):
            if any(self._contains(inner, 1) for inner in _decoded(run[0])):
                yield spelled[run.start()][1], spelled[run.end() - 1][2]

    def _runs(self, spelled: Sequence[tuple[str, int, int]]) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of runs of at least GRAM signs that a text shares with a form of the key.

        spelled: (sign, start, end) of each sign, with its place in the text.
        """
        signs = [(own, index) for index, (sign, *_) in enumerate(spelled) for own in _PLAIN[ord(sign)]]
        bare = "".join(sign for sign, _ in signs)
        ends: dict[tuple[str, int], int] = {}  # of the last run, by form and shift, as runs are found once
        for at in self._places(bare).tolist():
            for form, i in self._pieces[bare[at : at + GRAM]]:
                if at < ends.get((form, i - at), 0):
                    continue
                last = at + GRAM
                while last < len(bare) and bare[last] == form[i + last - at : i + last - at + 1]:
                    last += 1
                ends[form, i - at] = last
                span = signs[at][1], signs[last - 1][1]
                if last - at >= (GRAM if form != self._octal else 3 * GRAM):  # or lists of numbers are hidden
                    yield self._with_edges(spelled, span, form, (i, i + last - at))

    def _with_edges(
        self,
        spelled: Sequence[tuple[str, int, int]],
        span: tuple[int, int],
        form: str,
        run: tuple[int, int],
    ) -> tuple[int, int]:
        """Return the places of a run in the text, with the signs of the key at its ends without plain form.

        span: first and last sign of the run. run: its start and end in the form.
        """
        (first, last), whole = span, self._forms[form]
        head = whole[: len(whole) - len(whole.lstrip("-_/+="))] if run[0] == 0 else ""
        tail = whole[len(whole.rstrip("-_/+=")) :] if run[1] == len(form) else ""
        is_spaced = last - first >= len(whole.strip("-_/+="))  # something stands between the signs
        steps = range(1, 6 if is_spaced else 2)
        first, last = _edge(spelled, first, head[::-1], -1, steps), _edge(spelled, last, tail, 1, steps)
        return spelled[first][1], spelled[last][2]


def _edge(
    spelled: Sequence[tuple[str, int, int]], at: int, signs: str, way: int, steps: Sequence[int]
) -> int:
    """Return the place of the last of the signs that follow a place in one direction, each a step further."""
    for sign in signs:
        places = [at + way * step for step in steps]
        near = [place for place in places if 0 <= place < len(spelled) and spelled[place][0] == sign]
        if not near:
            break
        at = near[0]
    return at


class _Plain(dict[int, str]):
    """Code point -> its letters and digits in ASCII, in lower case; computed once for each."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        if 0xE0020 <= code <= 0xE007E:  # a tag, or a selector: both show nothing
            sign = chr(code - 0xE0000)
        elif 0xE0100 <= code <= 0xE01EF:
            sign = chr(code - 0xE0100 + 16)
        shown = unicodedata.normalize("NFKD", sign).casefold()
        kept = "".join(each for each in shown if each.isascii() and each.isalnum())
        if not kept:
            kept = LOOKS_LIKE.get(sign) or LOOKS_LIKE.get(shown[:1]) or _by_name(sign)
        self[code] = kept = kept.translate(_ALIKE)
        return kept


def _by_name(sign: str) -> str:
    """Return the letter or digit that a sign is by its name in Unicode; "" if it is none."""
    if (digit := unicodedata.digit(sign, None)) is not None:
        return str(digit)
    match = _NAMED.search(unicodedata.name(sign, ""))
    return match[1].lower() if match else ""


_NAMED = re.compile(
    r"(?:LATIN|NEGATIVE|REGIONAL|MODIFIER)\b.*\b(?:LETTER|CAPITAL|SMALL|TURNED|REVERSED|SCRIPT|OPEN|DOTLESS"
    r"|SIDEWAYS|STRETCHED|INSULAR) ([A-Z])(?= WITH\b|$)"
)
_ALIKE = str.maketrans("i10", "llo")
"""Letters and digits of ASCII that look alike."""
_PLAIN = _Plain()
_LOWER = bytes(ord(chr(code).lower().translate(_ALIKE)) if code < 128 else code for code in range(256))
_NOT_PLAIN = bytes(code for code in range(256) if not chr(code).isalnum() or code > 127)


def plain(text: str) -> str:
    """Return the letters and digits of a text in ASCII and in lower case, those that look alike as one;
    everything else is left out."""
    if text.isascii():  # much faster
        return text.encode().translate(_LOWER, _NOT_PLAIN).decode()
    return text.translate(_PLAIN)


def _grams(bare: str) -> NDArray[np.uint64]:
    """Return every run of GRAM signs of a plain text as a number."""
    signs = np.frombuffer(bare.encode().ljust(GRAM), np.uint8)
    return np.ascontiguousarray(sliding_window_view(signs, GRAM)).view(np.uint64).ravel()


def _sign(match: re.Match[str]) -> str:
    """Return the sign, or the signs, of a match of ``_SIGNS``; the match itself if it is none."""
    text = match[0]
    try:
        if text[0] in "01" and re.match("[01]{8}", text):
            return "".join(chr(int(code, 2)) for code in re.findall("[01]{8}", text))
        if text[0].isdigit() and text[:2].lower() != "0x":
            return "".join(chr(int(code)) for code in re.findall(r"\d+", text))
        if text[0] == "&":
            return html.unescape(text)
        if text[:2] in ("=\r", "=\n"):
            return ""
        if (name := re.fullmatch(r"\\+N\{(.*)\}", text)) is not None:
            return unicodedata.lookup(name[1])
        if (halves := re.findall(r"u([dD][89a-fA-F][0-9a-fA-F]{2})", text)) and len(halves) == 2:
            return bytes.fromhex("".join(halves)).decode("utf-16-be")
        if len(codes := re.findall(r"(?:[%=]|\\x)([0-9a-fA-F]{2})", text)) > 1:
            return bytes.fromhex("".join(codes)).decode()
        if text[0] == "\\" and text.lstrip("\\") in "nrt":
            return " "
        if text[0] == "\\" and text.lstrip("\\")[0].isdigit():
            return chr(int(text.lstrip("\\"), 8))
        return chr(int(re.sub(r"^(\\+[uxU]\{?|%u?|=|0[xX]|U\+)", "", text).rstrip("}"), 16))
    except (ValueError, OverflowError, KeyError):
        return text


def _opened(spelled: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return signs with one encoding undone; each keeps its place in the text."""
    text, opened, done = "".join(sign for sign, *_ in spelled), list[tuple[str, int, int]](), 0
    for match in _SIGNS.finditer(text):
        if (signs := _sign(match)) == match[0]:
            continue
        opened += spelled[done : match.start()]
        start, end = spelled[match.start()][1], spelled[match.end() - 1][2]
        opened += [(sign, start, end) for sign in signs]
        done = match.end()
    return opened + list(spelled[done:])


def _decoded(run: str) -> Iterator[str]:
    """Yield what a coded run may stand for, as text."""
    bare = run.rstrip("=")
    shapes: tuple[Callable[[], bytes], ...] = (
        lambda: bytes.fromhex(bare[: len(bare) // 2 * 2]),
        lambda: base64.b64decode(bare.translate({45: 43, 95: 47})[: len(bare) // 4 * 4]),
        lambda: base64.b32decode(bare.upper()[: len(bare) // 8 * 8]),
    )
    for decode in shapes:
        try:
            yield decode().replace(b"\0", b"").decode("utf-8", "replace")
        except (ValueError, binascii.Error):
            continue


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans, merged if they overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            start, end = joined[-1][0], max(end, joined.pop()[1])
        joined.append((start, end))
    return joined


def _spellings(key: str) -> set[str]:
    """Return the key in the exact spellings that errors are searched for, however short it is."""
    raw = key.encode()
    spelled = {key, raw.hex(), raw.hex().upper(), quote(key, safe=""), key[::-1]}
    return spelled | {form for form in _shifted(raw, base64.b64encode, 3, 4) if len(form) >= 4}


def _forms(key: str) -> set[str]:
    """Return the coded forms of the key."""
    raw = key.encode()
    forms = {key, raw.hex(), _octal(key), *(key.translate(way) for way in _OTHER_LETTERS)}
    forms |= _shifted(raw, base64.b64encode, 3, 4) | _shifted(raw, base64.b32encode, 5, 8)
    wide = key.encode("utf-16-le")
    forms |= _shifted(wide, base64.b64encode, 3, 4) | {wide.hex()}
    forms |= {base64.b85encode(raw).decode(), base64.a85encode(raw).decode()}
    return forms | {form[::-1] for form in forms - {_octal(key)}}


def _letters(order: str) -> dict[int, int]:
    """Return what replaces each letter if the alphabet has another order."""
    return str.maketrans(ascii_lowercase + ascii_uppercase, order + order.upper())


_OTHER_LETTERS = (_letters(ascii_lowercase[13:] + ascii_lowercase[:13]), _letters(ascii_lowercase[::-1]))
"""ROT13, and the alphabet backwards."""


def _octal(key: str) -> str:
    """Return the bytes of the key in octal, as dumps show them."""
    return "".join(f"{code:03o}" for code in key.encode())


def _shifted(raw: bytes, encode: Callable[[bytes], bytes], n: int, m: int) -> set[str]:
    """Return the middle of coded bytes after any other bytes: one form for each shift.

    n, m: bytes of a group, and its coded signs.
    """
    forms: set[str] = set()
    for shift in range(n):
        coded = encode(b"\0" * shift + raw).decode().rstrip("=")
        first = -(-shift * m // n)
        last = len(coded) - bool((shift + len(raw)) % n)
        forms |= {coded[first:last], coded[first:last].replace("+", "-").replace("/", "_")}
    return forms
