"""Numbers as they are written: digits of any script, Chinese numerals, fractions, thousands. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

NUMBER = re.compile(
    r"(?:(?<![\w.,])[-−])?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,٫٬'’]\d+)*)"
)
_GROUPED = re.compile(r"-?\d{1,3}(?:([.,'’\u00a0\u202f ])\d{2,3})(?:\1\d{2,3})*")
# Short vowels and the lengthening stroke, which Arabic writes or leaves out; Mn of other scripts are letters.
_ARABIC_MARKS = re.compile(r"[\u064b-\u0652\u0640]")
_ARABIC_LETTERS = str.maketrans("أإآى", "اااي")
_FRACTION = re.compile(r"(\d+) (\d)/(\d)(?!\d)")
_CHINESE = re.compile(r"(?<!\d)[〇零一二三四五六七八九十百千两兩]+")
_TENS = {"十": 10, "百": 100, "千": 1000}

_DECIMAL_POINT = frozenset({"bn", "en", "ja", "km", "ko", "ms", "zh"})
"""Languages that write 1.5 and 1,000; in the others a comma before three digits may be either."""
_EITHER = frozenset({"ar", "es"})
"""Languages whose countries differ in it."""


def numbers(text: str) -> list[frozenset[float]]:
    """The numbers in a text, in order, each as the values that it may have: "1.000" is 1 or 1000."""
    return [_values(match[0]) for match in NUMBER.finditer(fold(text))]


def plain_digits(text: str) -> str:
    """Digits of any script as 0-9; all else as it stands."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """The text as words are compared: NFKC, case folded, digits of any script as 0-9, without Arabic's
    optional marks."""
    same = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", text)).translate(_ARABIC_LETTERS)
    return plain_digits(same.casefold())


def with_digits(text: str, language: str) -> str:
    """The folded text with fractions ("1½", "1 1/2") as decimals and Chinese numerals in digits."""
    folded = fold("".join(map(_decimal_fraction, text)))
    folded = _FRACTION.sub(lambda m: f"{int(m[1]) + int(m[2]) / max(int(m[3]), 1):.6g}", folded)
    folded = re.sub(r"(?<![\d.])\.(?=\d)", "0.", folded)
    return _CHINESE.sub(lambda m: _chinese(m[0]), folded) if language in ("ja", "zh") else folded


def _decimal_fraction(character: str) -> str:
    """ "½" as ".5", which follows "1" in "1½"; any other character as it is."""
    if unicodedata.category(character) != "No" or "⁄" not in unicodedata.normalize("NFKC", character):
        return character
    return f"{unicodedata.numeric(character):.6g}".removeprefix("0")


def _chinese(numeral: str) -> str:
    """ "三百二十" -> "320"; digits in a row are read one by one: "二〇二五" -> "2025"."""
    if not set(numeral) & set(_TENS):
        return "".join(str(_digit(c)) for c in numeral)
    total = digit = 0
    for character in numeral:
        if character in _TENS:
            total, digit = total + (digit or 1) * _TENS[character], 0
        else:
            digit = _digit(character)
    return str(total + digit)


def _digit(character: str) -> int:
    return 2 if character in "两兩" else int(unicodedata.numeric(character))


def readings(number: str, language: str, is_gold: bool) -> frozenset[float]:
    """The values that a number may have in a language; of a gold answer the likelier one."""
    values, mark = _values(number), re.search(r"[.,]", number)
    if len(values) < 2 or mark is None:
        return values
    small, large = min(values), max(values)
    if language in _DECIMAL_POINT:
        return frozenset({small if mark[0] == "." else large})
    if language not in _EITHER and (mark[0] == "." or is_gold):
        return frozenset({large if mark[0] == "." else small})
    return frozenset({large}) if is_gold else values


def _values(number: str) -> frozenset[float]:
    number = number.replace("−", "-").replace("٫", ".").replace("٬", ",")
    digits = re.sub(r"['’\u00a0\u202f ]", "", number)
    values = {float(re.sub("[.,]", "", digits))} if _is_grouped(number) else set()
    head, mark, tail = re.match(r"(.*?)(?:([.,])([^.,]*))?$", digits).groups()  # type: ignore[union-attr]
    if not mark:
        values.add(float(digits))
    elif mark not in head:
        values.add(float(f"{re.sub('[.,]', '', head)}.{tail}"))
    return frozenset(values)


def _is_grouped(number: str) -> bool:
    """Thousands apart by one mark, as in 1,000,000, or as in India: 10,00,000."""
    return _GROUPED.fullmatch(number) is not None and len(re.split(r"\D", number)[-1]) == 3
